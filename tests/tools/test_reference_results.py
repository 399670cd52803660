"""--reference-results: PyTorch runs on a data set once for all deploys and evaluations of a model."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from tests.tools.tiny import Run, Tiny
from zoo.errors import BackendUnavailableError

pytestmark = pytest.mark.usefixtures("no_plots")

Command = Callable[[Sequence[str]], Run]


@pytest.fixture
def kept(voc: Tiny) -> Path:
    """A folder that is not there yet."""
    return voc.folder / "kept" / "results"


def evaluated(evaluate: Command, voc: Tiny, *more: object) -> list[dict[str, Any]]:
    """The rows."""
    file = voc.folder / "rows.json"
    run = evaluate([*voc.arguments(*more), "--json", str(file)])
    assert run.code == 0, run.err
    rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["rows"]
    return rows


def test_a_deploy_leaves_them_to_evaluations(
    voc: Tiny, deploy: Command, evaluate: Command, kept: Path, tmp_path: Path
) -> None:
    flag = ("--reference-results", kept)
    run = deploy(voc.with_images("--precision", "fp16", "--calibration-image", *voc.images, *flag))
    assert run.code == 0, run.err
    (file,) = kept.glob("*.sqlite")
    alone = evaluated(evaluate, voc)
    for work_dir in ("one", "two"):
        rows = evaluated(evaluate, voc, *flag, "--work-dir", tmp_path / work_dir)
        assert [row["images_resumed"] for row in rows] == [7, 0]
        assert [row["figures"] for row in rows] == [row["figures"] for row in alone]
    assert list(kept.glob("*.sqlite")) == [file]


def test_those_of_other_weights_are_not_taken(voc: Tiny, evaluate: Command, kept: Path) -> None:
    arguments = ("--backend", "pytorch", "--reference-results", kept)
    assert [row["images_resumed"] for row in evaluated(evaluate, voc, *arguments)] == [0]
    state = load_file(voc.folder / "tiny.safetensors")
    save_file({name: tensor * 1.5 for name, tensor in state.items()}, voc.folder / "tiny.safetensors")
    assert [row["images_resumed"] for row in evaluated(evaluate, voc, *arguments)] == [0]
    assert len(list(kept.glob("*.sqlite"))) == 2


def test_those_of_another_post_processing_are_not_taken(voc: Tiny, evaluate: Command, kept: Path) -> None:
    arguments = ("--backend", "pytorch", "--reference-results", kept)
    evaluated(evaluate, voc, *arguments)
    text = voc.config.read_text(encoding="utf-8")
    voc.config.write_text(
        text.replace('"SemanticSegmentation", ', '"SemanticSegmentation", resize="logits", '), "utf-8"
    )
    assert [row["images_resumed"] for row in evaluated(evaluate, voc, *arguments)] == [0]


def test_more_images_are_added(voc: Tiny, evaluate: Command, kept: Path) -> None:
    arguments = ("--backend", "pytorch", "--reference-results", kept)
    evaluated(evaluate, voc, *arguments, "--limit", 3)
    assert [row["images_resumed"] for row in evaluated(evaluate, voc, *arguments)] == [3]
    assert len(list(kept.glob("*.sqlite"))) == 1


@pytest.mark.parametrize("verb", ["deploy", "evaluate"])
def test_a_folder_that_cannot_be_made_is_one_line(
    voc: Tiny, request: pytest.FixtureRequest, kept: Path, verb: str
) -> None:
    kept.parent.write_text("", encoding="utf-8")
    run = request.getfixturevalue(verb)(voc.arguments("--reference-results", kept))
    assert (run.code, run.err) == (
        2,
        f"error: --reference-results {kept}: cannot be written (Not a directory); give another folder\n",
    )


def test_a_damaged_file_is_named(voc: Tiny, evaluate: Command, kept: Path) -> None:
    arguments = ("--backend", "pytorch", "--reference-results", kept)
    evaluated(evaluate, voc, *arguments)
    (file,) = kept.glob("*.sqlite")
    file.write_bytes(b"no database" * 1000)
    run = evaluate(voc.arguments(*arguments))
    assert run.code == 2
    assert run.err.startswith(f"error: {file}: results of an earlier run that cannot be read (")
    assert run.err.endswith("); remove it\n")


@pytest.mark.usefixtures("deployment")
def test_what_cannot_run_here_is_known_before_pytorch_runs(
    voc: Tiny, evaluate: Command, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unavailable(*_: object, **__: object) -> None:
        raise BackendUnavailableError("no GPU")

    monkeypatch.setattr("pipeline.candidates.judged_rows.load", unavailable)
    run = evaluate(voc.arguments("--deployment", voc.place, "--reference-results", kept))
    assert run.code == 4
    assert not list(kept.iterdir())
