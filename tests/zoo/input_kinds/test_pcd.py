"""PCL's files: every encoding gives the same points, and what is no cloud with intensities is refused in one line."""

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from zoo.errors import InputError, LibraryMissingError
from zoo.input_kinds import input_kind

KIND = input_kind("points")
FIELDS = ("x", "y", "z", "intensity")
ENCODINGS = ("ascii", "binary", "binary_compressed")
CLOUD = np.array([[1.5, -2.25, 0.5, 0.25], [np.nan, 0, 0, 0], [3, 4, 5, 1]], np.float32)
number = st.floats(-80, 80, width=32)
clouds = arrays.arrays(np.float32, st.tuples(st.integers(1, 8), st.just(4)), elements=number)


@pytest.fixture(scope="module")
def pypcd4() -> Any:
    return pytest.importorskip("pypcd4", reason="pypcd4 is not installed: pip install pypcd4")


def content_of(
    library: Any, cloud: NDArray[Any], encoding: str = "binary", fields: Any = FIELDS, types: Any = None
) -> bytes:
    made = library.PointCloud.from_points(cloud, fields, types or [np.float32] * len(fields))
    file = io.BytesIO()
    file.close = lambda: None  # type: ignore[method-assign]  # the library closes what it wrote to
    made.save(file, encoding=library.Encoding(encoding))
    return file.getvalue()


@given(clouds, st.sampled_from(ENCODINGS))
def test_a_cloud_comes_back_from_every_encoding(pypcd4: Any, cloud: NDArray[np.float32], encoding: str) -> None:
    content = content_of(pypcd4, cloud, encoding)
    np.testing.assert_allclose(KIND.decode(content, "000001.pcd"), cloud, atol=1e-4 if encoding == "ascii" else 0)


def test_other_fields_and_types_are_read_by_their_names(pypcd4: Any, tmp_path: Path) -> None:
    columns = [CLOUD[:, 3] * 255, CLOUD[:, 2], CLOUD[:, 1], CLOUD[:, 0], np.arange(3)]
    columns[0] = np.nan_to_num(columns[0])
    types = [np.uint8, np.float64, np.float32, np.float64, np.uint16]
    made = pypcd4.PointCloud.from_points(
        [column.astype(kind) for column, kind in zip(columns, types, strict=True)],
        ("intensity", "z", "y", "x", "ring"),
        types,
    )
    made.save(tmp_path / "scan.PCD")
    cloud = KIND.read(tmp_path / "scan.PCD")
    assert cloud.dtype == np.float32
    np.testing.assert_array_equal(cloud[:, :3], CLOUD[:, :3])
    assert cloud[:, 3].tolist() == [63, 0, 255]


def test_the_content_of_a_request_is_known_by_its_beginning(pypcd4: Any) -> None:
    content = b"# .PCD v0.7 - Point Cloud Data file format\n" + content_of(pypcd4, CLOUD)
    np.testing.assert_array_equal(KIND.decode(content, "of the request"), CLOUD)


def test_a_cloud_without_points(pypcd4: Any) -> None:
    content = content_of(pypcd4, CLOUD).replace(b"POINTS 3", b"POINTS 0").partition(b"DATA binary\n")
    assert KIND.decode(b"".join(content[:2]), "a.pcd").shape == (0, 4)


def broken(content: bytes, case: str) -> bytes:
    return {
        "empty": b"",
        "text": b"POINTS 3\nno header",
        "cut": content[:-20],
        "no count": content.replace(b"POINTS 3", b"POINTS many"),
        "bad size": content.replace(b"SIZE 4 4 4 4", b"SIZE 3 4 4 4"),
        "no text": bytes(range(256)),
    }[case]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("case", ["empty", "text", "cut", "no count", "bad size", "no text"])
def test_a_broken_file_is_one_line(pypcd4: Any, case: str, encoding: str) -> None:
    with pytest.raises(InputError, match=r"^point cloud a\.pcd: .*; the file is cut off or broken: copy it") as caught:
        KIND.decode(broken(content_of(pypcd4, np.nan_to_num(CLOUD), encoding), case), "a.pcd")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_more_points_than_the_bound_are_refused_by_the_header(
    pypcd4: Any, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = content_of(pypcd4, np.nan_to_num(CLOUD), encoding)
    with pytest.raises(InputError, match=r"a\.pcd: 999999999999 points, more than the bound of 33554432; give a small"):
        KIND.decode(content.replace(b"POINTS 3", b"POINTS 999999999999"), "a.pcd")
    monkeypatch.setenv("ZOOPORT_MAX_POINTS", "2")
    with pytest.raises(InputError, match=r"3 points, more than the bound of 2; .* set ZOOPORT_MAX_POINTS=3 where"):
        KIND.decode(content, "a.pcd")
    monkeypatch.setenv("ZOOPORT_MAX_POINTS", "3")
    assert len(KIND.decode(content, "a.pcd")) == 3


def test_compressed_points_that_claim_gigabytes_are_refused_before_memory_is_asked_for(pypcd4: Any) -> None:
    header, data, points = content_of(pypcd4, CLOUD, "binary_compressed").partition(b"DATA binary_compressed\n")
    claimed = b"".join((header, data, points[:4], b"\xff" * 4, points[8:]))
    with pytest.raises(InputError, match=r"a\.pcd: 4294967295 bytes when decompressed, more than 536870912; the file"):
        KIND.decode(claimed, "a.pcd")


@pytest.mark.parametrize(
    ("plain", "other"),
    [
        (b"POINTS 3", b"POINTS 3\nPOINTS 999999999999"),  # the library takes the last
        (b"POINTS 3", b"points 999999999999\nPOINTS 3"),
        (b"VERSION", b"FIRST 1\nSECOND 2\nVERSION"),  # and ten entries: behind them it takes all for points
        (b"DATA binary_compressed", b"DATA\nDATA ascii"),
        (b"DATA binary_compressed", b"data binary_compressed"),
        (b"VERSION", b"#" * 5000 + b"\nVERSION"),
    ],
)
def test_a_header_that_may_be_read_in_two_ways_is_refused(pypcd4: Any, plain: bytes, other: bytes) -> None:
    content = content_of(pypcd4, np.nan_to_num(CLOUD), "binary_compressed")
    assert content.count(plain) == 1
    with pytest.raises(InputError, match="a.pcd: no header of a .pcd file with its number of points"):
        KIND.decode(content.replace(plain, other), "a.pcd")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (("x", "y", "z"), "no field intensity among x, y, z; write the file with the fields x y z intensity"),
        (("x", "y", "z", "rgb"), "no field intensity among x, y, z, rgb; a colour is no intensity; write the file"),
        (("u", "v", "z", "intensity"), "no field x, y among u, v, z, intensity; write"),
    ],
)
def test_a_cloud_without_intensities_is_refused(pypcd4: Any, fields: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError) as caught:
        KIND.decode(content_of(pypcd4, CLOUD[:, : len(fields)], fields=fields), "a.pcd")
    assert str(caught.value).startswith(f"point cloud a.pcd: {message}")


def test_without_the_library_the_file_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pypcd4", None)
    (tmp_path / "a.pcd").write_bytes(b"# .PCD v0.7\n")
    with pytest.raises(
        LibraryMissingError, match=r"^pypcd4 is not .* reading .*a\.pcd needs it: pip .*zooport\[points"
    ):
        KIND.read(tmp_path / "a.pcd")


def test_nothing_imports_the_library_before_a_file_needs_it() -> None:
    code = "import sys; from zoo.input_kinds import input_kind; input_kind('points'); print('pypcd4' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
