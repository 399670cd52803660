"""tools/make_streets.py: into a folder in KITTI's layout, or into the cache."""

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from zoo.datasets import KittiDataset, Streets
from zoo.datasets.streets import splits
from zoo.datasets.streets.objects import CLASSES
from zoo.tasks import ClassInfo

TOOLS = Path(__file__).parents[2] / "tools"
NAMES = [ClassInfo(name, None) for name in CLASSES]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    sys.path.insert(0, str(TOOLS))
    try:
        return importlib.import_module("make_streets")
    finally:
        sys.path.remove(str(TOOLS))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(splits.SIZES, "gate", 2)
    return tmp_path / "cache" / "zooport" / "streets-1"


def test_the_cache_is_the_default(
    tool: ModuleType, cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool.main(["gate", "--json", str(tmp_path / "made.json")]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"{cache}/gate: 2 synthetic scenes, ")
    assert err.endswith("gate split: 2/2\n")
    assert json.loads((tmp_path / "made.json").read_text(encoding="utf-8"))["scenes"] == 2
    assert len(Streets("gate", classes=NAMES)) == 2


def test_a_folder_has_kittis_layout(tool: ModuleType, cache: Path, tmp_path: Path) -> None:
    assert tool.main(["train", "--out", str(tmp_path / "out"), "--count", "2"]) == 0
    assert len(KittiDataset(tmp_path / "out", "train", classes=NAMES)) == 2
    assert not cache.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train"], "train: also give --out, a folder"),
        (["gate", "--count", "2"], "gate --count 2: also give --out"),
        (["gate", "--out", "{full}", "--count", "1"], "is not an empty folder, and what is in it would be lost"),
        (["gate", "--out", "{new}", "--count", "-1"], "--count -1: expected 1 or more"),
        (["gate", "--out", "{new}", "--count", "0"], "--count 0: expected 1 or more"),
    ],
)
def test_wrong_arguments(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine", encoding="utf-8")
    places = {"full": tmp_path / "full", "new": tmp_path / "new"}
    assert tool.main([argument.format(**places) for argument in arguments]) == 2
    assert words in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine.txt"]
    assert not (tmp_path / "new").exists()
