"""A deploy replaces its own files alone: what the user put beside them is refused, or kept where it comes later."""

import json
from pathlib import Path
from typing import Any

import pytest

from backends import Backend, registry
from backends.registry import backends
from pipeline.publishing import publish
from pipeline.publishing.own_files import foreign_files, remove_own
from pipeline.publishing.publish import publication
from zoo.errors import InputError

OWN = ("model.onnx", "weights.bin", "model.engine", "model.engine.json", "self_test.npz", "parity.json", "report.html")


def fill(folder: Path) -> None:
    """A deployment's files, one of them known by the manifest alone."""
    for name in OWN:
        (folder / name).write_text(name, encoding="utf-8")
    (folder / "previews").mkdir(exist_ok=True)
    (folder / "previews" / "01-a-photograph.png").write_text("a preview", encoding="utf-8")
    manifest = {"files": {name: {} for name in ("model.onnx", "weights.bin", "model.engine", "model.engine.json")}}
    (folder / "deployment.json").write_text(json.dumps(manifest), encoding="utf-8")


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with publication(tmp_path / "place") as folder:
        fill(folder)
    return tmp_path / "place"


@pytest.fixture(params=[True, False], ids=["exchange", "aside"])
def _either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.param:
        monkeypatch.setattr(publish, "exchange", lambda first, second: False)


def test_files_of_the_users_are_named_before_the_long_work_and_stay(place: Path) -> None:
    (place / "notes.txt").write_text("mine", encoding="utf-8")
    (place / "previews" / "mine.png").write_text("mine", encoding="utf-8")
    (place / "drawings").mkdir()
    with pytest.raises(InputError) as caught, publication(place):
        pytest.fail("entered")
    assert str(caught.value) == (
        f"{place}: holds drawings/, notes.txt, previews/mine.png beside the deployment's own files, and a deploy "
        "replaces the whole folder; move them away, or use another --work-dir"
    )
    assert (place / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert names(place.parent)[0] == "place"
    assert [path.name for path in place.parent.iterdir()] == ["place"]


def test_of_many_files_the_first_are_named(place: Path) -> None:
    for number in range(7):
        (place / f"{number}.txt").touch()
    with pytest.raises(InputError, match=r"holds 0\.txt, 1\.txt, 2\.txt, 3\.txt and 3 more beside"), publication(place):
        pytest.fail("entered")


@pytest.mark.usefixtures("_either_way")
def test_files_that_come_meanwhile_are_kept_and_named(place: Path) -> None:
    kept: list[Path] = []
    with publication(place, kept.append) as folder:
        fill(folder)
        (place / "notes.txt").write_text("mine", encoding="utf-8")
        (place / "previews" / "mine.png").write_text("mine", encoding="utf-8")
        (place.parent / "place.kept").mkdir()
    assert kept == [place.parent / "place.kept-2"]
    assert names(kept[0]) == ["notes.txt", "previews", "previews/mine.png"]
    assert sorted(path.name for path in place.parent.iterdir()) == ["place", "place.kept", "place.kept-2"]
    assert foreign_files(place) == []


def test_what_the_system_leaves_in_a_folder_is_nobodys(place: Path) -> None:
    for name in (".DS_Store", ".nfs00000000a1b2c3d400000001", "previews/.DS_Store"):
        (place / name).touch()
    with publication(place) as folder:
        fill(folder)
    assert [path.name for path in place.parent.iterdir()] == ["place"]


@pytest.mark.parametrize("manifest", ["", "[", "[]", "{}", '{"files": 3}', '{"files": ["notes.txt"]}', "[" * 100_000])
def test_an_unreadable_manifest_makes_no_file_ours(place: Path, manifest: str) -> None:
    (place / "deployment.json").write_text(manifest, encoding="utf-8")
    (place / "notes.txt").touch()
    assert foreign_files(place) == ["notes.txt", "weights.bin"]


class Foreign(Backend):
    """A backend from outside, whose build leaves a file with a name that a user might choose, too."""

    name = "foreign"
    title = "Foreign"
    library = "json"
    install = "nothing"
    files = ("notes.txt",)

    def open(self, folder: Any, manifest: Any, options: Any) -> Any:
        raise NotImplementedError

    def open_graph(self, path: Any, *others: Any) -> Any:
        raise NotImplementedError


def test_another_backends_files_are_the_users_where_the_manifest_does_not_list_them(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_BACKENDS", {**backends(), "foreign": Foreign()})
    (place / "notes.txt").write_text("mine", encoding="utf-8")
    assert foreign_files(place) == ["notes.txt"]
    assert not remove_own(place)
    assert names(place) == ["notes.txt"]


def test_a_backends_files_are_ours_where_the_manifest_cannot_be_read(place: Path) -> None:
    (place / "deployment.json").write_text("[", encoding="utf-8")
    (place / "weights.bin").unlink()
    assert foreign_files(place) == []
    assert remove_own(place)


def test_a_manifest_cannot_have_files_elsewhere_removed(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "a.txt").write_text("precious", encoding="utf-8")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to("../precious")
    listed = ["../precious/a.txt", str(tmp_path / "precious" / "a.txt"), "link/a.txt", "previews/../../precious/a.txt"]
    (folder / "deployment.json").write_text(json.dumps({"files": dict.fromkeys(listed)}), encoding="utf-8")
    assert foreign_files(folder) == ["link"]
    assert not remove_own(folder)
    assert [path.name for path in folder.iterdir()] == ["link"]
    assert (tmp_path / "precious" / "a.txt").read_text(encoding="utf-8") == "precious"


def test_links_of_the_users_are_removed_with_nothing_behind_them(tmp_path: Path) -> None:
    """A model.onnx that is a link goes, and what it leads to stays."""
    (tmp_path / "large.onnx").touch()
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "model.onnx").symlink_to("../large.onnx")
    assert remove_own(folder)
    assert (tmp_path / "large.onnx").exists()
