"""tools/make_digits.py: into a folder, or into the cache."""

import errno
import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import cv2
import pytest

from zoo.datasets import DigitsDetection, DigitsSegmentation
from zoo.datasets.digits import split as digits_split
from zoo.datasets.digits.contact_sheet import CELL, COLUMNS

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """tools/make_digits.py as a module."""
    sys.path.insert(0, str(TOOLS))
    try:
        return importlib.import_module("make_digits")
    finally:
        sys.path.remove(str(TOOLS))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(digits_split.SPLIT_SIZES, "gate", 3)
    return tmp_path / "cache" / "zooport" / "digits-1"


def test_the_cache_is_the_default(
    tool: ModuleType, cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool.main(["gate", "--json", str(tmp_path / "made.json")]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"{cache}/gate: 3 images, ")
    assert err.endswith("gate split: 3/3\n")
    made = json.loads((tmp_path / "made.json").read_text(encoding="utf-8"))
    assert (made["folder"], made["images"]) == (str(cache / "gate"), 3)
    assert len(DigitsDetection("gate")) == 3
    assert tool.main(["gate"]) == 0
    assert capsys.readouterr() == (out, "")  # it was there


def test_into_a_folder_with_a_contact_sheet(tool: ModuleType, cache: Path, tmp_path: Path) -> None:
    out, sheet = tmp_path / "out", tmp_path / "sheet.jpg"
    assert tool.main(["gate", "--out", str(out), "--count", "2", "--contact-sheet", str(sheet)]) == 0
    assert len(DigitsDetection("gate", out)) == 2
    assert cv2.imread(str(sheet)) is not None
    assert not cache.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gate", "--count", "2"], "--count 2: the cache holds whole splits; also give --out"),
        (["gate", "--count", "0", "--out", "x"], "--count 0: expected 1 or more"),
    ],
)
def test_wrong_counts(tool: ModuleType, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    assert tool.main(arguments) == 2
    assert capsys.readouterr().err == f"error: {words}\n"


def test_a_cache_that_cannot_be_written(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cache").write_text("a file", encoding="utf-8")
    assert tool.main(["gate"]) == 2
    assert "cannot be written: Not a directory; set XDG_CACHE_HOME to a folder that can" in capsys.readouterr().err


def contents(folder: Path) -> dict[str, int]:
    """The files below a folder, and when each was written."""
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_a_smaller_set_takes_the_place_of_a_larger(tool: ModuleType, tmp_path: Path) -> None:
    for count, images in ((None, 3), (1, 1)):
        more = [] if count is None else ["--count", str(count)]
        assert tool.main(["gate", "--out", str(tmp_path), *more]) == 0
        assert len(DigitsDetection("gate", tmp_path)) == len(DigitsSegmentation("gate", tmp_path)) == images
        assert len(contents(tmp_path)) == 2 * images + 1
    assert [path.name for path in tmp_path.iterdir()] == ["gate"]


@pytest.mark.parametrize("name", ["gate/images/000099.jpg", "gate/notes.txt", "gate/label_maps/000000.jpg"])
def test_files_of_others_are_never_lost(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert tool.main(["gate", "--out", str(tmp_path), "--count", "1"]) == 0
    (tmp_path / name).write_bytes(b"mine")
    before = contents(tmp_path)
    assert tool.main(["gate", "--out", str(tmp_path), "--count", "1"]) == 2
    words = (
        f"gate holds {name.removeprefix('gate/')}, which does not belong to a split of the digits and would be lost; re"
    )
    assert words in capsys.readouterr().err
    assert contents(tmp_path) == before


@pytest.mark.parametrize("text", ["", "{}", "[[", '{"info": {"description": "COCO 2017"}, "images": []}'])
def test_another_data_set_is_never_lost(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (tmp_path / "gate").mkdir()
    (tmp_path / "gate" / "annotations.json").write_text(text, encoding="utf-8")
    assert tool.main(["gate", "--out", str(tmp_path), "--count", "1"]) == 2
    assert "gate holds annotations.json, which does not belong to a split of the digits" in capsys.readouterr().err
    assert (tmp_path / "gate" / "annotations.json").read_text(encoding="utf-8") == text


def test_a_file_in_the_place_of_the_folder(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gate").write_bytes(b"mine")
    for out in (tmp_path, tmp_path / "gate"):
        assert tool.main(["gate", "--out", str(out), "--count", "1"]) == 2
        words = f"error: {tmp_path}/gate: this is a file, expected a folder; give another --out\n"
        assert capsys.readouterr().err == words
    assert (tmp_path / "gate").read_bytes() == b"mine"


def test_a_folder_that_cannot_be_written(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert tool.main(["gate", "--out", str(tmp_path), "--count", "1"]) == 2
    assert f"{tmp_path}/gate cannot be written: No space left on device; give another --out" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_interrupted_run_leaves_the_earlier_set(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tool.main(["gate", "--out", str(tmp_path), "--count", "1"]) == 0
    before = contents(tmp_path)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tool, "show_progress", interrupt)
    with pytest.raises(KeyboardInterrupt):
        tool.write("gate", tmp_path / "gate", 2)
    assert contents(tmp_path) == before


def test_a_contact_sheet_that_cannot_be_written(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, words in (
        ("images.jpg", "Is a directory"),
        ("sheet.jpeg2", f'OpenCV cannot encode {COLUMNS * CELL[1]}x{CELL[0]} pixels as ".jpeg2'),
    ):
        arguments = ["gate", "--out", str(tmp_path), "--count", "1", "--contact-sheet", str(tmp_path / name)]
        (tmp_path / "images.jpg").mkdir(exist_ok=True)
        assert tool.main(arguments) == 2
        assert f"{name} cannot be written: {words}" in capsys.readouterr().err
