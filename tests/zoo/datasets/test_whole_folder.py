"""A folder that is replaced: whole, or as it was."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from zoo.datasets.files.whole_folder import replace_folder


def written(folder: Path) -> Iterator[int]:
    folder.mkdir()
    (folder / "new").touch()
    yield 0


def test_it_is_there_again_where_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "split"
    folder.mkdir()
    (folder / "old").touch()
    rename = Path.rename

    def failing(path: Path, target: Path) -> Path:
        if path.name == "made":
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(KeyboardInterrupt):
        replace_folder(folder, written, "split", 1)
    assert [path.name for path in folder.iterdir()] == ["old"]
    monkeypatch.undo()
    replace_folder(folder, written, "split", 1)
    assert [path.name for path in folder.iterdir()] == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["split"]
