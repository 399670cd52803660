"""What a second run takes up, and what it runs again."""

import sys
import tomllib
from pathlib import Path

import pytest

import zoo
from pipeline.regression import fingerprint
from pipeline.regression.cell import Cell
from pipeline.regression.matrix import Matrix
from pipeline.regression.result import result_file
from tests.examples import slow_but
from tests.pipeline.regression.world import World

ROOT = Path(__file__).parents[3]


def test_resume_and_rerun_failed(world: World) -> None:
    world.config("fails", deploy="error 5 no")
    world.config("passes")
    world.write()
    world.run()
    assert world.run(resume=True).resumed == 2
    assert (len(world.calls("fails")), len(world.calls("passes"))) == (1, 2)
    found = world.run(rerun_failed=True)
    assert found.resumed == 1
    assert (len(world.calls("fails")), len(world.calls("passes"))) == (2, 2)
    assert world.run().resumed == 0
    assert (len(world.calls("fails")), len(world.calls("passes"))) == (3, 4)


@pytest.mark.parametrize(
    "change",
    slow_but(["config", "sources", "limit", "gate_split", "versions", "broken", "removed"], "config", "sources"),
)
def test_what_changed_is_run_again(world: World, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    world.config("changes")
    world.config("stays")
    world.write()
    world.run()
    result = result_file(world.work_dir, "changes-onnxruntime-fp32-dynamo")
    match change:
        case "config":
            world.config("changes", deploy="good")
        case "sources":
            monkeypatch.setattr(fingerprint, "_sources", lambda: "others")
        case "limit":
            world.write(limit=3)
        case "gate_split":
            world.write(gate_split=True)
        case "versions":
            monkeypatch.setattr("pipeline.regression.running.installed_versions", lambda: {"torch": "9"})
        case "broken":
            result.write_text(result.read_text(encoding="utf-8")[:-20], encoding="utf-8")
        case "removed":
            result.unlink()
    found = world.run(resume=True)
    assert found.resumed == (1 if change in ("config", "broken", "removed") else 0)
    names = {"limit": "images", "gate_split": "images", "broken": "", "removed": ""}
    assert ", ".join(found.changed) == names.get(change, change)
    assert len(world.calls("changes")) == 4


def test_pytorchs_results_are_kept_as_long_as_they_are_made_from_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.config("fails", deploy="error 5 no")
    world.config("passes")
    world.write()
    world.run()
    kept = world.work_dir / "reference_results" / "kept.sqlite"
    folder = f"--reference-results {kept.parent}"
    assert all(folder in call for name in ("fails", "passes") for call in world.calls(name))

    def outlives(**options: bool) -> bool:
        kept.parent.mkdir(exist_ok=True)
        kept.touch()
        world.run(**options)
        return kept.is_file()

    assert outlives(resume=True)
    assert outlives(rerun_failed=True)
    assert not outlives()
    monkeypatch.setattr(fingerprint, "_sources", lambda: "others")
    assert not outlives(resume=True)


def test_a_result_depends_on_the_bases_and_the_checkpoint(world: World) -> None:
    base, weights = world.folder / "_base_" / "base.py", world.folder / "weights.safetensors"
    base.parent.mkdir()
    task = 'task = dict(type="Detection", classes=[dict(name="a", category_id=1)])'
    text = (
        f'_base_ = ["_base_/base.py"]\ncheckpoint = "weights.safetensors"\npreprocess = dict(size=(64, 64))\n{task}\n'
    )
    (world.folder / "model.py").write_text(f"{text}# {{}}\n", encoding="utf-8")
    digests = set()
    for content, tensors in (("a=1", b"1"), ("a=2", b"1"), ("a=2", b"2"), ("a=2", b"2")):
        base.write_text(f'model = dict(type="M", {content})\n', encoding="utf-8")
        weights.write_bytes(tensors)
        world.write(exclude=[])
        digests.add(world.run().cells[0][1].made_from["config"])
    assert len(digests) == 3


@pytest.mark.slow
def test_a_result_depends_on_the_modules_beside_the_config(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    module = world.folder / "module_of_a_fingerprint.py"
    text = (
        'custom_imports = dict(imports="module_of_a_fingerprint")\nmodel = dict(type="M")\n'
        'task = dict(type="Detection", classes=[dict(name="a", category_id=1)])\npreprocess = dict(size=(64, 64))\n'
    )
    (world.folder / "model.py").write_text(f"{text}# {{}}\n", encoding="utf-8")
    digests = set()
    for content in ("A = 1", "A = 2", "A = 2"):
        module.write_text(content, encoding="utf-8")
        world.write(exclude=[])
        digests.add(world.run().cells[0][1].made_from["config"])
    sys.modules.pop("module_of_a_fingerprint")
    assert len(digests) == 2


def test_a_result_depends_on_the_sources_of_all_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(fingerprint.PACKAGES) == set(pyproject["tool"]["importlinter"]["root_packages"])
    monkeypatch.setattr(zoo, "__file__", str(tmp_path / "zoo" / "__init__.py"))
    matrix = Matrix("one", (Cell(str(tmp_path / "no.py"), "no", "onnxruntime", "fp32", "dynamo"),))
    (tmp_path / "no.py").touch()
    digests = set()
    for name in ("zoo", "rewriters/patching", "backends", "pipeline/a/b", "zooport"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "new.py").write_text(name, encoding="utf-8")
        digests.update(found["sources"] for found in fingerprint.fingerprints(matrix, {}).values())
    assert len(digests) == 5
