"""Sources of a large run: files, globs, URIs and Parquet files, named without being read, and the blocks of them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backends.scale.blocks import Block, in_blocks, limited, usual_size
from backends.scale.inputs import Inputs, find_inputs
from backends.scale.reading import read_inputs
from zoo.errors import InputError
from zoo.input_kinds import input_kind

KIND = input_kind("image")


def names(*sources: object, recursive: bool = False) -> list[str]:
    return [Path(each.label).name for each in find_inputs([str(each) for each in sources], KIND, recursive=recursive)]


def test_a_folder_a_glob_and_their_uris_name_the_same_files(photos: Path) -> None:
    (photos / "more").mkdir()
    (photos / "0.png").rename(photos / "more/0.png")
    (photos / ".hidden.png").write_bytes(b"")
    flat = [f"{number}.png" for number in range(1, 6)]
    assert names(photos) == names(photos / "*.png") == flat
    assert names(photos.as_uri()) == names(f"{photos.as_uri()}/*.png") == flat
    assert names(photos, photos) == flat  # each once
    assert names(photos, recursive=True) == names(photos.as_uri(), recursive=True) == [*flat, "0.png"]
    (one,) = find_inputs([f"{photos.as_uri()}/1.png"], KIND, recursive=False)
    assert (one.base, one.path, one.label) == (one.label, str(photos / "1.png"), f"{photos.as_uri()}/1.png")


def test_items_of_a_uri_are_those_of_the_file(photos: Path) -> None:
    local = list(read_inputs(find_inputs([str(photos)], KIND, recursive=False), KIND))
    remote = list(read_inputs(find_inputs([photos.as_uri()], KIND, recursive=False), KIND))
    for one, other in zip(local, remote, strict=True):
        assert (one.value is None) == (other.value is None) == one.label.endswith("3.png")
        assert one.value is None or (one.value == other.value).all()
    assert local[3].fault is not None
    assert remote[3].fault == local[3].fault.replace(str(photos), photos.as_uri())


@pytest.mark.parametrize("nested", [False, True])
def test_rows_of_a_parquet_file(photos: Path, tmp_path: Path, nested: bool) -> None:
    contents = [(photos / f"{number}.png").read_bytes() for number in range(6)]
    column = [{"path": "", "bytes": each} for each in contents] if nested else contents
    table = tmp_path / "table.parquet"
    pq.write_table(pa.table({"name": list("abcdef"), "image": column}), table, row_group_size=4)
    inputs = find_inputs([str(table)], KIND, recursive=False)
    assert [(each.group, each.row, each.images) for each in inputs] == [(0, 0, 4), (1, 4, 2)]
    blocks = list(in_blocks(inputs, 3))
    assert [block.images for block in blocks] == [3, 3]
    items = [item for block in blocks for item in read_inputs(block.inputs, KIND)]
    assert [item.frame for item in items] == list(range(6))
    expected = [KIND.read(photos / f"{number}.png") if number != 3 else None for number in range(6)]
    for item, value in zip(items, expected, strict=True):
        assert (item.value is None) == (value is None)
        assert value is None or (item.value == value).all()
    assert items[3].fault is not None
    assert items[3].fault.startswith(f"image {table}, row 3: not an image")


def test_a_parquet_file_without_contents_of_images(tmp_path: Path) -> None:
    table = tmp_path / "table.parquet"
    pq.write_table(pa.table({"name": ["a"]}), table)
    with pytest.raises(InputError, match="no column of bytes, expected one with the contents of image files"):
        find_inputs([str(table)], KIND, recursive=False)
    pq.write_table(pa.table({"a": [b"a"], "b": [b"b"]}), table)
    with pytest.raises(InputError, match=r"2 columns of bytes \(a, b\)"):
        find_inputs([str(table)], KIND, recursive=False)
    table.write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match="not a Parquet file that can be read; give a whole one"):
        find_inputs([str(table)], KIND, recursive=False)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("nowhere", "nowhere: no such file"),
        ("file:///nowhere/at/all", "file:///nowhere/at/all: no such file or folder; check the name"),
        ("file:///nowhere/*.jpg", "no images, expected files .bmp"),
        ("file:///*/a.jpg", "a pattern in the name of a folder; name the folder, with --recursive"),
        ("nosuch://bucket/a.jpg", "expected a path, or a URI such as s3://bucket/folder"),
        ("rtsp://camera/1", "expected a path, or a URI such as s3://bucket/folder"),
        ("0", "its frames come one after another; predict it without --engine ray"),
    ],
)
def test_what_names_no_inputs_is_refused(
    source: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as raised:
        find_inputs([source], KIND, recursive=False)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_blocks_keep_every_image_once_and_in_order() -> None:
    inputs = [Inputs("", "a", "a"), Inputs("", "t", "t", 10, "image"), Inputs("", "b", "b")]
    blocks = list(in_blocks(inputs, 4))
    assert [block.number for block in blocks] == list(range(len(blocks)))
    assert all(block.images <= 4 for block in blocks)
    rows = [range(each.row, each.row + each.images) for block in blocks for each in block.inputs if each.column]
    assert [row for piece in rows for row in piece] == list(range(10))
    assert sum(block.images for block in blocks) == 12
    assert [each.images for each in limited(inputs, 5)] == [1, 4]
    assert list(limited(inputs, None)) == inputs


def test_the_usual_size_of_a_block() -> None:
    assert [usual_size(images) for images in (0, 600, 40_000, 10**8)] == [32, 32, 100, 10_000]


def test_a_block_survives_its_text() -> None:
    block = Block(3, (Inputs("s3://b/c", "b/c/d.jpg", "s3://b/c/d.jpg"), Inputs("", "/t", "t", 5, "image", 1, 2, 9)))
    assert tuple(Inputs.from_json(each.to_json()) for each in block.inputs) == block.inputs
