"""Rows of large Parquet files: memory is bounded by bytes, wherever a block begins and however large a row is."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backends.scale import contents as module
from backends.scale import part, reading
from backends.scale.blocks import in_blocks
from backends.scale.contents import contents
from backends.scale.inputs import find_inputs
from backends.scale.reading import read_inputs
from backends.scale.storage import Storage
from zoo.byte_sizes import MEBIBYTE
from zoo.input_kinds import input_kind

KIND = input_kind("image")
WHOLE = 2 * MEBIBYTE
ROWS = 96
ROOT = Path(__file__).resolve().parents[3]
MOST_MEMORY = """
import sys
import pyarrow
from backends.scale import contents
from backends.scale.inputs import Inputs
from backends.scale.storage import Storage
contents.WHOLE, contents.BUFFER = int(sys.argv[1]), int(sys.argv[1]) // 8
for text in sys.argv[2:]:
    inputs = Inputs.from_json(text)
    for _ in contents.contents(inputs, Storage(inputs.path)):
        pass
print(pyarrow.default_memory_pool().max_memory())
"""
"""What pyarrow had allocated at most, in a process that only reads."""


def write_table(path: Path, values: list[Any], **settings: Any) -> None:
    pq.write_table(pa.table({"number": range(len(values)), "image": values}), path, **settings)


@pytest.mark.parametrize("nested", [False, True])
def test_a_row_group_larger_than_memory_is_read_page_by_page(tmp_path: Path, nested: bool) -> None:
    random = np.random.default_rng(0)
    values = [random.bytes(MEBIBYTE // 4) for _ in range(ROWS)]
    rows = [{"path": "", "bytes": value} for value in values] if nested else values
    write_table(tmp_path / "large.parquet", rows, write_batch_size=2, use_dictionary=False)
    inputs = find_inputs([str(tmp_path / "large.parquet")], KIND, recursive=False)
    assert [each.images for each in inputs] == [ROWS]  # one row group of 24 MiB
    assert [content.value for block in in_blocks(inputs, 40) for content in pieces(block.inputs)] == values
    command = [sys.executable, "-c", MOST_MEMORY, str(WHOLE), *(each.to_json() for each in inputs)]
    most = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert int(most) < 2 * WHOLE


def pieces(inputs: Any) -> Iterator[module.Content]:
    for each in inputs:
        yield from contents(each, Storage(each.path))


def test_small_and_empty_values(tmp_path: Path) -> None:
    rows = [{"bytes": b"a"}, None, {"bytes": None}, {"bytes": b""}, {"bytes": b"bc"}]
    for name, values in (("nested", rows), ("flat", [row and row["bytes"] for row in rows])):
        write_table(tmp_path / f"{name}.parquet", values, row_group_size=4)
        inputs = find_inputs([str(tmp_path / f"{name}.parquet")], KIND, recursive=False)
        assert [content.value for content in pieces(inputs)] == [b"a", b"", b"", b"", b"bc"]


def test_a_row_that_is_no_image_by_its_size_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (module, reading):
        monkeypatch.setattr(place, "MAX_BYTES", 10_000)
    _, image = cv2.imencode(".png", np.zeros((64, 64, 3), np.uint8))
    table = tmp_path / "table.parquet"
    write_table(table, [image.tobytes(), bytes(10_001), image.tobytes()])
    items = list(read_inputs(find_inputs([str(table)], KIND, recursive=False), KIND))
    assert [item.fault for item in items] == [
        None,
        f"image {table}, row 1: 10001 bytes, expected the content of one file, at most 10000",
        None,
    ]
    large = tmp_path / "large.png"
    large.write_bytes(bytes(10_001))
    (item,) = read_inputs(find_inputs([large.as_uri()], KIND, recursive=False), KIND)
    assert item.fault == f"image {large.as_uri()}: 10001 bytes, expected the content of one file, at most 10000"


@pytest.mark.parametrize("whole", [WHOLE, 0])
def test_rows_after_a_damaged_page_have_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: int) -> None:
    """As many rows as there are images; those before the page, and those of other row groups, are as they were."""
    monkeypatch.setattr(module, "WHOLE", whole)
    _, image = cv2.imencode(".png", np.random.default_rng(0).integers(0, 255, (32, 32, 3)).astype(np.uint8))
    table = tmp_path / "table.parquet"
    settings = {"compression": "snappy", "use_dictionary": False, "row_group_size": 64, "write_batch_size": 1}
    write_table(table, [image.tobytes()] * 128, data_page_size=1, **settings)
    chunk = pq.read_metadata(table).row_group(0).column(1)
    middle = chunk.data_page_offset + chunk.total_compressed_size // 2
    with table.open("r+b") as file:
        file.seek(middle)
        file.write(b"\xff" * (chunk.total_compressed_size // 8))
    items = list(read_inputs(find_inputs([str(table)], KIND, recursive=False), KIND))
    assert [item.frame for item in items] == list(range(128))
    good = [item.frame for item in items if item.fault is None]
    damaged = range(good.index(64), 64)
    assert good == [*range(damaged.start), *range(64, 128)]
    assert 8 <= len(damaged) < 64
    for row in damaged:
        fault = items[row].fault
        assert fault is not None
        assert fault.startswith(f"image {table}, row {row}: row group 0 cannot be read (")
        assert "\n" not in fault


def test_rows_of_a_file_that_was_changed_have_a_fault(tmp_path: Path) -> None:
    table = tmp_path / "table.parquet"
    write_table(table, [b"no image"] * 4, row_group_size=3)
    inputs = find_inputs([str(table)], KIND, recursive=False)

    def reasons() -> list[str]:
        return [str(item.fault).split(": ", 1)[1].split(",")[0].split(" (")[0] for item in read_inputs(inputs, KIND)]

    none = reasons()
    write_table(table, [b"no image"] * 2)
    assert reasons() == [*none[:2], "row group 0 has fewer rows than when the run began", "row group 1 cannot be read"]
    pq.write_table(pa.table({"other": [b"no image"] * 4}), table)
    assert reasons() == ["row group 0 cannot be read"] * 3 + ["row group 1 cannot be read"]
    table.write_bytes(b"PAR1 and no more")
    assert reasons() == ["row group 0 cannot be read"] * 3 + ["row group 1 cannot be read"]
    table.unlink()
    assert reasons() == ["no such file"] * 4


def test_rows_of_a_part_are_few_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "BYTES_AT_ONCE", 100)
    rows = [{"png": bytes(60), "fault": None}] * 5 + [{"png": None, "fault": "x"}] * 70
    assert [len(few) for few in part._few_at_a_time(rows)] == [2, 2, 64, 7]
