"""Sources of a large run: files, globs, URIs and Parquet files, named without being read, and the blocks of them."""

import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from backends.scale import reading
from backends.scale.blocks import Block, in_blocks, limited, row_reads, usual_piece, usual_size
from backends.scale.inputs import Inputs, find_inputs, reached
from backends.scale.prediction import _row, held
from backends.scale.predictor import BlockPredictor, PredictionJob
from backends.scale.reading import read_inputs
from backends.scale.run_folder import RunFolder
from backends.scale.storage import Storage
from tests.backends.scale.test_predictor import shipped
from zoo.errors import InputError
from zoo.input_kinds import input_kind
from zoo.notices import heard
from zoo.sources import find_sources
from zooport.commands.predict import parser
from zooport.ray_prediction import RayPrediction, _plan

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


def test_a_folder_that_a_uri_escapes(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = photos.rename(photos.parent / "my photos")
    uri = folder.as_uri()
    assert uri.endswith("/my%20photos")
    for source in (uri, f"{uri}/", f"{uri}/*.png"):
        inputs = find_inputs([source], KIND, recursive=False)
        assert [each.label for each in inputs] == [f"file://{folder}/{number}.png" for number in range(6)]
        assert [item.fault is None for item in read_inputs(inputs, KIND)] == [number != 3 for number in range(6)]
    assert len(find_inputs([uri, str(folder), f"{uri}/*.png"], KIND, recursive=False)) == 6  # each once
    storage = Storage("s3://bucket/my%20photos?region=none&endpoint_override=localhost")
    assert storage.label(f"{storage.path}/0.png") == "s3://bucket/my photos/0.png"


def test_a_name_that_is_not_utf_8(detector: Path, photos: Path, tmp_path: Path) -> None:
    """pyarrow lists no folder that has one."""
    name = os.fsdecode(b"\xff.png")
    (photos / "5.png").rename(photos / name)
    (photos / os.fsdecode(b".\xff")).write_bytes(b"")
    inputs = find_inputs([str(photos)], KIND, recursive=True)
    assert [Path(each.path).name for each in inputs] == [*(f"{number}.png" for number in range(5)), name]
    out = tmp_path / "out"
    run = RunFolder(str(out), {}, resume=False)
    out.mkdir()
    (out / os.fsdecode(b".\xff")).write_bytes(b"")
    with held(run):
        run.begin(in_blocks(inputs, 100))
    (block,) = run.blocks()
    row = _row(block)
    assert pa.array([row["name"]]).to_pylist() == [f"block 0 ({photos}/0.png to {photos}/\\udcff.png)"]
    predictor = BlockPredictor(PredictionJob(shipped(detector), str(out)), dict)
    predictor({"block": [0], "inputs": [row["inputs"]]})
    (part,) = out.glob("part-*.parquet")
    last = pq.read_table(part).to_pylist()[-1]
    assert (last["source"], last["fault"]) == (f"{photos}/\\udcff.png", None)
    *_, item = read_inputs(find_inputs([photos.as_uri()], KIND, recursive=False), KIND)
    assert str(item.fault).endswith(
        ": cannot be read ('utf-8' codec can't encode character '\\udcff' in position "
        f"{len(str(photos)) + 1}: surrogates not allowed)"
    )
    with (
        pytest.raises(InputError, match=r"--out .*: cannot be written \('utf-8' codec can't encode"),
        held(RunFolder(str(tmp_path / name), {}, resume=False)),
    ):
        pass


def test_a_link_to_a_folder_is_not_followed(photos: Path) -> None:
    (photos / "link").symlink_to(photos)
    (photos / "link.png").symlink_to(photos / "0.png")
    expected = [*(f"{number}.png" for number in range(6)), "link.png"]
    assert names(photos.as_uri(), recursive=True) == expected
    assert Storage(str(photos)).listed(recursive=True) == [str(photos / name) for name in expected]


def test_a_pattern_of_parquet_files(photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a path in any of its parts, of a URI in the last one."""
    for name in ("a/1", "a/2", "b/3"):
        table = tmp_path / f"shards-{name}.parquet"
        table.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"image": [(photos / "1.png").read_bytes()]}), table)
    (tmp_path / "shards-a/out.parquet").mkdir()
    (tmp_path / "shards-a/3.txt").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    for source in ("shards-a/*.parquet", tmp_path / "shards-a/*", f"{tmp_path.as_uri()}/shards-a/*.parquet"):
        inputs = find_inputs([str(source)], KIND, recursive=False)
        assert [(each.path, each.column) for each in inputs] == [
            (str(tmp_path / f"shards-a/{number}.parquet"), "image") for number in (1, 2)
        ]
        assert all(item.value is not None for item in read_inputs(inputs, KIND))
    assert names("shards-*/[23].parquet") == ["2.parquet", "3.parquet"]
    (tmp_path / "shards-a/4.png").write_bytes(b"")
    for source in ("shards-a/*", f"{tmp_path.as_uri()}/shards-a/*"):
        with pytest.raises(InputError, match=r"image files; name one of them, by a pattern such as \*.bmp or \*.parq"):
            names(source)


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


SECRET = "7ftX"
CREDENTIALS = f"key:{SECRET}@"


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """s3:// is this folder. The URIs that were opened."""
    opened: list[str] = []

    def from_uri(uri: str) -> tuple[fs.FileSystem, str]:
        opened.append(uri)
        place = urlsplit(uri)
        return fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), place.netloc.rpartition("@")[2] + place.path

    library = SimpleNamespace(
        FileSystem=SimpleNamespace(from_uri=from_uri), LocalFileSystem=fs.LocalFileSystem, FileSelector=fs.FileSelector
    )
    monkeypatch.setattr("backends.scale.storage.optional_library", lambda *_: library)
    reading._opened.cache_clear()
    return opened


def test_a_password_is_for_access_alone(detector: Path, photos: Path, tmp_path: Path, bucket: list[str]) -> None:
    """It is in no label, row, fault, plan or settings file; the actor, and a run that continues, open with it."""
    table = tmp_path / "tables/t.parquet"
    table.parent.mkdir()
    pq.write_table(pa.table({"image": [(photos / "1.png").read_bytes(), b"no image"]}), table)
    sources = [f"s3://{CREDENTIALS}{name}?endpoint_override=here" for name in ("photos", "photos/*.png", "tables")]
    flags = ["--engine", "ray", "--out", f"s3://{CREDENTIALS}results"]
    options = parser().parse_args([str(detector), *sources, *flags])
    run = RayPrediction(options)
    inputs = find_inputs(sources, KIND, recursive=False)
    assert {each.base for each in inputs} == {"s3://photos", "s3://tables"}
    assert inputs[0].label == "s3://photos/0.png"
    run.folder.begin(in_blocks(inputs, 100))
    predictor = BlockPredictor(replace(run.job, deployment=shipped(detector)), dict)
    done = predictor({"block": [0], "inputs": [json.dumps(inputs)]})
    assert done["refused"] == [""]
    assert len(json.loads(done["faults"][0])) == 2
    (part,) = (tmp_path / "results").glob("part-*.parquet")
    shown = [run.summary, json.dumps(run.data), json.dumps(done), repr(run.job), repr(pq.read_table(part).to_pylist())]
    shown += [path.read_bytes().decode(errors="replace") for path in (tmp_path / "results").iterdir()]
    assert len(shown) == 8
    assert not any(SECRET in text or CREDENTIALS in text or "endpoint_override" in text for text in shown)
    assert all(CREDENTIALS in uri for uri in bucket)
    options.resume, options.source = True, [uri.replace(SECRET, "new") for uri in sources]
    assert RayPrediction(options).folder.begun


@pytest.mark.parametrize(
    "uri",
    [
        f"s3://key:{SECRET}/ab@bucket/x",
        f"s3://key:{SECRET} ab@bucket/x",
        f"s3://key:{SECRET}@bucket/x?no=1",
        f"nosuch://key:{SECRET}@bucket/x",
        f"s3://[{SECRET}@bucket/x",
    ],
)
def test_a_uri_that_cannot_be_opened_is_refused_without_its_password(uri: str) -> None:
    for refused in (lambda: find_inputs([uri], KIND, recursive=False), lambda: find_sources([uri], KIND)):
        with pytest.raises(InputError) as error:
            refused()
        assert SECRET not in str(error.value)
        assert str(error.value).startswith(uri.partition("://")[0])
        assert "\n" not in str(error.value)


def test_two_uris_that_differ_in_their_passwords_alone_are_refused() -> None:
    assert reached(["photos", "s3://a:b@c/d", "s3://a:b@c/d", "s3://c"]) == {
        "s3://c/d": "s3://a:b@c/d",
        "s3://c": "s3://c",
    }
    with pytest.raises(
        InputError, match="^s3://c/d: is named twice, with another user, password or query; name it onc"
    ):
        reached(["s3://a:b@c/d", "s3://c/d"])


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


@pytest.mark.parametrize(
    ("rows", "groups", "actors", "pieces", "reads"),
    [
        (8_000, 1, 2, 8, 4.5),  # enough blocks for the actors, and no more
        (8_000, 1, 16, 64, 32.5),
        (5_000, 100, 16, 100, 1.0),  # each row group is one block
        (100, 1_000, 4, 500, 1.0),  # small ones share a block
        (1_048_576, 1, 2, 105, 53.07),
        (10, 1, 16, 1, 1.0),
    ],
)
def test_row_groups_are_cut_no_more_than_the_actors_need(
    rows: int, groups: int, actors: int, pieces: int, reads: float
) -> None:
    inputs = [Inputs("", "/t", "t", rows, "image", group, 0, group * rows) for group in range(groups)]
    size, piece = usual_size(rows * groups), usual_piece(rows * groups, actors)
    blocks = list(in_blocks(inputs, size, piece))
    assert len(blocks) == pieces
    assert sum(block.images for block in blocks) == rows * groups
    assert row_reads(inputs, piece) == pytest.approx(reads, abs=0.01)
    assert row_reads([Inputs("", "a", "a")], piece) == 1


def test_a_plan_that_reads_rows_often_says_so() -> None:
    said: list[str] = []
    group = Inputs("", "/t", "t", 1_000, "image")
    with heard(said.append):
        assert len(list(_plan([group], None, 1))) == 4
        assert not said
        assert len(list(_plan([group], 100, 1))) == 10
        assert len(list(_plan([group], None, 2))) == 8
    words = "each row of the Parquet files is read {} times on average, because a block that begins within a row group "
    words += "reads it from its first row; write row groups of at most {}"
    assert said == [words.format(5.5, "100 rows, or give a larger --block-size"), words.format(4.5, "125 rows")]


def test_a_block_is_called_by_its_ends() -> None:
    table = Inputs("", "/t", "t", 5, "image", 1, 2, 9)
    assert Block(3, (Inputs("", "/a", "a"), table)).name == "block 3 (a to t, row 13)"
    assert Block(4, (table,)).name == "block 4 (t, row 9 to t, row 13)"
    assert Block(5, (Inputs("", "/a", "a"),)).name == "block 5 (a)"


def test_a_block_survives_its_text() -> None:
    block = Block(3, (Inputs("s3://b/c", "b/c/d.jpg", "s3://b/c/d.jpg"), Inputs("", "/t", "t", 5, "image", 1, 2, 9)))
    assert tuple(Inputs.from_json(each.to_json()) for each in block.inputs) == block.inputs


def test_a_folder_of_tables_and_images_is_refused(photos: Path) -> None:
    pq.write_table(pa.table({"image": [(photos / "1.png").read_bytes()]}), photos / "index.parquet")
    with pytest.raises(InputError, match=r"has Parquet files as well as image files; name one of them"):
        names(photos)
    assert names(photos / "*.png") == [f"{number}.png" for number in range(6)]


def test_the_same_path_of_two_storages_is_two_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system knows the path of its file alone."""

    def of(name: str, *_: object, **__: object) -> list[Inputs]:
        return [Inputs(name, "bucket/x.png", f"{name}/x.png")]

    monkeypatch.setattr("backends.scale.inputs._of", of)
    found = find_inputs(["s3://bucket", "gs://bucket", "s3://bucket"], KIND, recursive=False)
    assert [each.base for each in found] == ["s3://bucket", "gs://bucket"]
