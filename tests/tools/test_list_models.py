"""tools/list_models.py: the table, its filters, the same as data, and no torch."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.zoo.cards.tiny_zoo import CONFIG, TinyZoo
from zoo.cards import measured_file, read_card
from zooport.verbs import run_verb

ROOT = Path(__file__).parents[2]
LIST = ("list", "--configs", "configs")  # of the working directory
BLOCKED = """
import runpy, sys
sys.modules.update(dict.fromkeys(sys.argv[1].split(",")))
sys.argv[:] = ["tools/list_models.py", *sys.argv[2:]]
sys.path.insert(0, "tools")
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture
def zoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TinyZoo:
    """A small zoo in the working directory, of a detector more."""
    made = TinyZoo(tmp_path)
    made.make()
    text = CONFIG + 'task = dict(_delete_=True, type="Detection", classes=[dict(name="x", category_id=1)])\n'
    (tmp_path / "configs" / "boxes.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("zoo.cards.read_card", partial(read_card, folder=made.folder))
    return made


def without(libraries: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BLOCKED, libraries, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env={"PYTHONPATH": str(ROOT)})


def test_it_needs_no_torch(tmp_path: Path) -> None:
    data = tmp_path / "zoo.json"
    done = without("torch,torchvision,onnx,onnxruntime,scipy,sklearn,skimage,pycocotools", "--json", str(data))
    assert (done.returncode, done.stderr) == (0, "")
    names = [model["name"] for model in json.loads(data.read_text(encoding="utf-8"))["models"]]
    assert names == [path.stem for path in sorted(ROOT.glob("configs/[!_]*/*.py"))]
    assert all(name in done.stdout for name in names)


def test_help_and_wrong_flags_load_no_library() -> None:
    done = without("torch,mmengine,rich,cv2", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "example" in done.stdout
    assert "GFLOPs of one input" in done.stdout
    assert without("torch,mmengine,rich,cv2", "--tusk=x").stderr.startswith("error: unknown argument --tusk=x; nearest")


def test_a_row_has_the_figures_of_each_backend(zoo: TinyZoo, capsys: pytest.CaptureFixture[str]) -> None:
    measured_file(zoo.one, zoo.folder).unlink()
    assert run_verb([*LIST]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: " ".join(line.split()) for line in lines if line.strip()}
    assert rows["two"] == "two semantic-segmentation a tiny model 1.23 7.65 64x96 mIoU 75.60 75.61"
    assert rows["one"] == "one semantic-segmentation a tiny model - - - not measured - -"
    assert rows["config"].endswith("metric pytorch onnxruntime-fp32")
    problems = [line for line in lines if "tools/update_zoo.py" in line]
    assert [line.split()[0] for line in problems] == ["configs/boxes.py", "configs/one.py"]


def test_weights_that_are_not_shipped(zoo: TinyZoo, capsys: pytest.CaptureFixture[str]) -> None:
    measured_file(zoo.one, zoo.folder).unlink()
    zoo.one.write_text(CONFIG.replace("weights.safetensors", "torchvision://A.B"), encoding="utf-8")
    assert run_verb([*LIST, "--name", "one"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[-1] == "one semantic-segmentation a tiny model - - - not measured here"


def test_what_is_stale_is_marked(zoo: TinyZoo, capsys: pytest.CaptureFixture[str]) -> None:
    zoo.one.write_text(CONFIG.replace("(64, 96)", "(96, 64)"), encoding="utf-8")
    assert run_verb([*LIST, "--name", "one"]) == 0
    out = capsys.readouterr().out
    assert "mIoU (stale)" in out
    assert "has changed since it was measured" in out


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        ([], ["boxes", "one", "two"]),
        (["--task", "detection"], ["boxes"]),
        (["--task", "semantic-segmentation"], ["one", "two"]),
        (["--name", "o"], ["boxes", "one", "two"]),
        (["--name", "o*"], ["one"]),
        (["--name", "?wo"], ["two"]),
        (["--name", "TWO"], ["two"]),
        (["--name", "ONE*"], ["one"]),
        (["--name", "o", "--task", "detection"], ["boxes"]),
    ],
)
def test_filters(flags: list[str], names: list[str], zoo: TinyZoo) -> None:
    data = zoo.root / "out.json"
    assert run_verb([*LIST, *flags, "--json", str(data)]) == 0
    assert [model["name"] for model in json.loads(data.read_text(encoding="utf-8"))["models"]] == names


def test_data_has_all_that_is_on_the_card(zoo: TinyZoo) -> None:
    data = zoo.root / "out.json"
    assert run_verb([*LIST, "--name", "one", "--json", str(data)]) == 0
    (model,) = json.loads(data.read_text(encoding="utf-8"))["models"]
    assert model["measured"] == zoo.measured(zoo.one).to_dict() | {"rows": model["measured"]["rows"]}
    assert [row["figures"]["segmentation/mIoU"] for row in model["measured"]["rows"]] == [75.6, 75.61]
    assert model["recipe"] == {"iterations": 3, "scale": [1.0, 2.0]}
    assert (model["config"], model["state"], model["problem"]) == ("configs/one.py", "measured", None)
    assert (model["what"], model["licence"]) == ("a tiny model", "Apache-2.0")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--task", "detektion"], '--task: unknown task "detektion"; nearest: "detection"'),
        (["--name", "three"], '--name "three": no such model; nearest: "two"'),
        (
            ["--name", "one", "--task", "detection"],
            "none of 1 models is of task detection; there is semantic-segmentation",
        ),
        (["--configs", "elsewhere"], "--configs elsewhere: no configs in there; give a folder that has some"),
    ],
)
def test_what_is_not_there(flags: list[str], words: str, zoo: TinyZoo, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_verb([*LIST, *flags]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {words}")
    assert err.count("\n") == 1


def test_a_broken_config_does_not_hide_the_others(zoo: TinyZoo, capsys: pytest.CaptureFixture[str]) -> None:
    zoo.one.write_text("model = 3\n", encoding="utf-8")
    data = zoo.root / "out.json"
    assert run_verb([*LIST, "--json", str(data)]) == 2
    out, err = capsys.readouterr()
    assert [line.split()[0] for line in out.splitlines() if "a tiny model" in line] == ["boxes", "two"]
    assert err.startswith("error: config configs/one.py: ")
    assert err.count("\n") == 1
    content = json.loads(data.read_text(encoding="utf-8"))
    assert (content["exit_code"], [model["name"] for model in content["models"]]) == (2, ["boxes", "two"])
    assert run_verb([*LIST, "--name", "two"]) == 0
