"""tools/make_digits.py: into a folder, or into the cache."""

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import cv2
import pytest

from zoo.datasets import DigitsDetection, digits_split

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
    assert err.endswith("gate: 3/3\n")
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
        (["gate", "--count", "2"], "--count 2: the cache holds whole splits; give --out, too"),
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
    assert "cannot be written: Not a directory; give another --out" in capsys.readouterr().err
