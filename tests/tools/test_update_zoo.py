"""tools/update_zoo.py: what is stale is measured, written and shown; --check only says so."""

import hashlib
import importlib
import json
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipeline import evaluate
from pipeline.evaluation.records import Evaluation
from pipeline.measure_card import measure_card
from tests.tools.tiny import Tiny
from tests.zoo.cards.tiny_zoo import CONFIG, TinyZoo
from zoo.cards import Measured, fingerprint, measured_file, problems, read_card
from zoo.config import load_config
from zoo.errors import GateError, InputError, LibraryMissingError

TOOLS = Path(__file__).parents[2] / "tools"
CARD = 'card = dict(what="tiny", paper="none", licence="none")\n'


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(TOOLS))
    return importlib.import_module("update_zoo")


@pytest.fixture
def zoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TinyZoo:
    """A small zoo in the working directory."""
    made = TinyZoo(tmp_path)
    made.make()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("zoo.cards.read_card", partial(read_card, folder=made.folder))
    monkeypatch.setattr("zoo.cards.measured_file", partial(measured_file, folder=made.folder))
    monkeypatch.setattr("zoo.cards.problems", partial(problems, folder=made.folder))
    return made


@pytest.fixture
def measured(zoo: TinyZoo, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The configs that were measured; measuring "broken" misses a gate."""
    seen: list[str] = []

    def measure(path: str, count: object, step: object) -> Measured:
        if "broken" in path:
            raise GateError(f"config {path}: no")
        if "lacks" in path:
            raise LibraryMissingError("timm is not installed")
        seen.append(path)
        return zoo.measured(path)

    monkeypatch.setattr("pipeline.measure_card.measure_card", measure)
    return seen


def change(zoo: TinyZoo) -> None:
    zoo.one.write_text(CONFIG.replace("(64, 96)", "(96, 64)").replace("tiny", "small"), encoding="utf-8")


def test_nothing_is_done_where_nothing_is_stale(
    tool: ModuleType, measured: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for flags in ([], ["--check"]):
        assert tool.main(flags) == 0
        assert capsys.readouterr().out == "nothing is stale\n"
    assert not measured


def test_what_is_stale_is_measured_and_shown(tool: ModuleType, zoo: TinyZoo, measured: list[str]) -> None:
    change(zoo)
    assert len(zoo.problems()) == 3  # the card, and both pages, which do not say that it is stale
    data = zoo.root / "out.json"
    assert tool.main(["--json", str(data)]) == 0
    assert measured == ["configs/one.py"]
    assert json.loads(data.read_text(encoding="utf-8")) == {
        "exit_code": 0,
        "measured": ["configs/one.py"],
        "pages": ["README.md", "docs/zoo.md"],
        "stale": [],
    }
    assert zoo.problems() == []
    assert "a small model" in zoo.readme.read_text(encoding="utf-8")


def test_weights_that_are_not_shipped_are_measured_on_request_alone(
    tool: ModuleType, zoo: TinyZoo, measured: list[str]
) -> None:
    measured_file(zoo.one, zoo.folder).unlink()
    zoo.one.write_text(CONFIG.replace("weights.safetensors", "torchvision://A.B"), encoding="utf-8")
    assert tool.main([]) == 0
    assert not measured
    assert "whose weights are hosted elsewhere (1)" in zoo.readme.read_text(encoding="utf-8")
    assert tool.main(["--check"]) == 0
    assert tool.main(["configs/one.py"]) == 0
    assert measured == ["configs/one.py"]
    assert "hosted elsewhere" not in zoo.readme.read_text(encoding="utf-8")


def test_a_page_alone_needs_no_measuring(tool: ModuleType, zoo: TinyZoo, measured: list[str]) -> None:
    text = zoo.readme.read_text(encoding="utf-8")
    zoo.readme.write_text(text.replace("75.60", "80.00"), encoding="utf-8")
    assert tool.main([]) == 0
    assert (measured, zoo.readme.read_text(encoding="utf-8")) == ([], text)


def test_a_model_without_its_library_is_left_out_where_nobody_asked_for_it(
    tool: ModuleType, zoo: TinyZoo, measured: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    lacks = zoo.one.with_name("lacks.py")
    lacks.write_text(CONFIG, encoding="utf-8")  # nobody has measured it
    change(zoo)
    assert tool.main([]) == 0
    assert measured == ["configs/one.py"]
    assert "configs/lacks.py is left out: timm is not installed\n" in capsys.readouterr().out
    assert tool.main([str(lacks)]) == 4
    assert "error: timm is not installed" in capsys.readouterr().err


def test_the_given_ones_are_measured(
    tool: ModuleType, zoo: TinyZoo, measured: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    change(zoo)
    assert tool.main([str(zoo.root / "configs" / "two.py")]) == 0
    assert measured == ["configs/two.py"]
    assert "configs/one.py, its checkpoint or its data has changed" in capsys.readouterr().out
    assert "mIoU (stale)" in zoo.readme.read_text(encoding="utf-8")


def test_check_says_what_is_stale_and_writes_nothing(
    tool: ModuleType, zoo: TinyZoo, measured: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    change(zoo)
    before = {path: path.read_bytes() for path in zoo.root.rglob("*") if path.is_file()}
    data = zoo.root / "out.json"
    assert tool.main(["--check", "--json", str(data)]) == 3
    err = capsys.readouterr().err
    assert err.startswith(
        "error: configs/one.py, its checkpoint or its data has changed since it was measured; run python tools/"
    )
    assert err.count("\n") == 1
    content = json.loads(data.read_text(encoding="utf-8"))
    assert (content["exit_code"], len(content["stale"])) == (3, 3)
    data.unlink()
    assert {path: path.read_bytes() for path in zoo.root.rglob("*") if path.is_file()} == before
    assert not measured


def test_a_missed_gate_leaves_the_card_and_keeps_what_was_measured_before(
    tool: ModuleType, zoo: TinyZoo, measured: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    change(zoo)
    (zoo.root / "configs" / "z_broken.py").write_text(CONFIG, encoding="utf-8")
    assert tool.main([]) == 3
    assert capsys.readouterr().err == "error: config configs/z_broken.py: no\n"
    assert measured == ["configs/one.py"]
    assert read_card(zoo.one, zoo.folder).problem is None
    assert not measured_file("z_broken", zoo.folder).exists()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["configs/oen.py"], 'config configs/oen.py is not under configs/; nearest: "configs/one.py"'),
        (["--check", "configs/one.py"], "--check looks at all configs; leave out CONFIG"),
    ],
)
def test_wrong_usage(
    flags: list[str], words: str, tool: ModuleType, measured: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool.main(flags) == 2
    assert capsys.readouterr().err.startswith(f"error: {words}")
    assert not measured


def test_a_missing_page_is_found_before_the_measuring(
    tool: ModuleType, zoo: TinyZoo, measured: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    change(zoo)
    zoo.docs.unlink()
    assert tool.main([]) == 2
    assert "zoo.md: no such file; run this in the root of the repository" in capsys.readouterr().err
    assert not measured


def test_another_folder_is_not_the_root(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert tool.main([]) == 2
    assert "no configs/ in this folder; run this in the root" in capsys.readouterr().err


def with_card(voc: Tiny) -> Path:
    text = voc.config.read_text(encoding="utf-8")
    voc.config.write_text(text + CARD, encoding="utf-8")
    return voc.config


def test_a_config_is_measured(voc: Tiny) -> None:
    reported: list[tuple[str, int, int]] = []
    steps: list[str] = []
    config = with_card(voc)
    found = measure_card(config, lambda *count: reported.append(count), steps.append)
    assert found.fingerprint == fingerprint(load_config(config))
    assert found.checkpoint_sha256 == hashlib.sha256((voc.folder / "tiny.safetensors").read_bytes()).hexdigest()
    assert (found.parameters, found.flops, found.input_size) == (16, 2 * 12 * 64 * 96, (64, 96))
    assert (found.images, found.metric, found.unit) == (7, "segmentation/mIoU", "points")
    rows = {row.backend: row for row in found.rows}
    pytorch, onnxruntime = rows["pytorch"], rows["onnxruntime"]
    assert ("openvino" in rows) == (find_spec("openvino") is not None)
    assert (pytorch.name, pytorch.verdict, pytorch.difference) == ("pytorch", "reference", None)
    assert (onnxruntime.backend, onnxruntime.verdict, onnxruntime.gate) == ("onnxruntime", "passed", 0.1)
    assert 50 < (pytorch.figures["segmentation/mIoU"] or 0) < 100
    assert found.machine["versions"].keys() >= {"torch", "onnxruntime"}
    assert ("pytorch", 7, 7) in reported
    assert steps
    assert Measured.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_a_missed_gate_is_no_measurement(voc: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    def missed(*arguments: Any, **options: Any) -> Evaluation:
        found = evaluate(*arguments, **options)
        missed_rows = [
            replace(row, difference=-0.3, verdict="missed") for row in found.rows if row.difference is not None
        ]
        return replace(found, rows=(found.rows[0], *missed_rows))

    monkeypatch.setattr("pipeline.measure_card.evaluate", missed)
    with pytest.raises(
        GateError, match=r"tiny.py: segmentation/mIoU differs .* \(-0.30, gate 0.1\).*; nothing was written"
    ):
        measure_card(with_card(voc))


def test_a_config_without_card_or_evaluator_is_not_measured(voc: Tiny, tiny: Tiny) -> None:
    with pytest.raises(InputError, match=r"tiny.py has no card; add card=dict\(what="):
        measure_card(voc.config)
    tiny.write(CARD)
    with pytest.raises(InputError, match=r"tiny.py has no evaluator; add evaluator=dict\(type=...\)"):
        measure_card(tiny.config)
