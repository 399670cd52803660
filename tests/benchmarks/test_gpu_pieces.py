"""Wheels in pieces: whatever is split comes together again, and what is not as it was is refused."""

import json
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.errors import InputError

pytestmark = pytest.mark.usefixtures("benchmarks")
CONTENTS = st.lists(st.binary(max_size=40), min_size=1, max_size=5)


def written(folder: Path, contents: list[bytes]) -> list[Path]:
    paths = [folder / f"{number}.whl" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths


def test_what_is_split_is_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpu import pieces

    @given(contents=CONTENTS, most=st.integers(1, 50), block=st.integers(1, 60))
    def holds(contents: list[bytes], most: int, block: int) -> None:
        with TemporaryDirectory() as folder, monkeypatch.context() as changed:
            changed.setattr(pieces, "BLOCK", block)
            place = Path(folder)
            index = pieces.split(written(place, contents), place / "pieces", most)
            assert [piece.bytes for piece in index.pieces[:-1]] == [most] * (len(index.pieces) - 1)
            assert sum(piece.bytes for piece in index.pieces) == sum(map(len, contents))
            read = pieces.Index.read(place / "pieces")
            assert read == index
            joined = pieces.join(read, place / "pieces", place / "joined")
            assert [path.read_bytes() for path in joined] == contents
            assert [path.name for path in joined] == [f"{number}.whl" for number in range(len(contents))]

    holds()


def test_a_piece_that_is_damaged_cut_or_missing_is_refused_by_name() -> None:
    from gpu import pieces

    @given(
        content=st.binary(min_size=1, max_size=40),
        most=st.integers(1, 20),
        place=st.integers(0, 39),
        fault=st.sampled_from(["flipped", "cut", "longer", "missing"]),
    )
    def refused(content: bytes, most: int, place: int, fault: str) -> None:
        with TemporaryDirectory() as folder:
            files = written(Path(folder), [content])
            index = pieces.split(files, Path(folder) / "pieces", most)
            number, offset = divmod(place % len(content), most)
            piece = Path(folder) / "pieces" / index.pieces[number].name
            before = bytearray(piece.read_bytes())
            if fault == "missing":
                piece.unlink()
                assert pieces.missing(index, piece.parent) == [piece.name]
            else:
                changed = bytes(before[:offset]) + bytes([before[offset] ^ 1]) + bytes(before[offset + 1 :])
                piece.write_bytes({"flipped": changed, "cut": before[:-1], "longer": before + b"x"}[fault])
                assert pieces.missing(index, piece.parent) == []
            with pytest.raises(InputError, match=piece.name):
                pieces.join(index, piece.parent, Path(folder) / "joined")
            assert not list((Path(folder) / "joined").glob("*")), "nothing half-joined is left"

    refused()


def test_pieces_of_an_earlier_split_are_gone(tmp_path: Path) -> None:
    from gpu.pieces import split

    split(written(tmp_path, [b"a" * 9]), tmp_path / "pieces", 1)
    split(written(tmp_path, [b"b" * 3]), tmp_path / "pieces", 1)
    assert sorted(path.name for path in (tmp_path / "pieces").iterdir()) == [
        *("piece-01", "piece-02", "piece-03", "pieces.json"),
    ]


@pytest.mark.parametrize("content", [None, "", "[]", '{"files": []}', '{"files": [{"name": 1}], "pieces": []}'])
def test_an_index_that_is_none(content: str | None, tmp_path: Path) -> None:
    from gpu.pieces import Index

    if content is not None:
        (tmp_path / "pieces.json").write_text(content)
    with pytest.raises(InputError, match=r"pieces.json: no index of pieces .*make gpu-wheels"):
        Index.read(tmp_path)


def tiny_wheel(folder: Path, *needed: str) -> Path:
    path = folder / "carried-1.0-py3-none-any.whl"
    fields = ["Metadata-Version: 2.1", "Name: carried", "Version: 1.0", *(f"Requires-Dist: {line}" for line in needed)]
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("carried.py", "THERE = True\n")
        wheel.writestr("carried-1.0.dist-info/METADATA", "\n".join(fields) + "\n")
        wheel.writestr("carried-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("carried-1.0.dist-info/RECORD", "")
    return path


def test_what_nothing_brings_is_named(tmp_path: Path) -> None:
    """As the module of tensorrt_rtx, which is not in the package of that name but in one that it needs."""
    from gpu.needs import THERE, lacking
    from gpu.wheels import AS_HERE

    there = {**dict.fromkeys((*THERE, *AS_HERE)), "onnxruntime-gpu": "1.31.1"}
    needed = ["numpy>=2", "Opencv_Python>=3", "onnxruntime>=1.30", 'old; python_version < "3.12"', 'x; extra == "more"']
    assert lacking([tiny_wheel(tmp_path, *needed)], there) == []
    needed = ["absent==1.2", "carried>=2", "onnxruntime>=1.32"]
    assert lacking([tiny_wheel(tmp_path, *needed)], there) == [f"{line} (by carried)" for line in needed]
    assert "bokeh>=3.9 (by zooport)" in lacking([], dict.fromkeys(THERE))


def test_install_names_what_is_missing_and_then_installs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from gpu.pieces import split
    from gpu.wheels import main

    made, there = tmp_path / "made", tmp_path / "there"
    there.mkdir()
    index = split([tiny_wheel(tmp_path, "numpy", "not-installed-anywhere>=2")], made, 300)
    assert len(index.pieces) > 2
    flags = ["install", "--pieces", str(there), "--wheels", str(tmp_path / "joined"), "--site", str(tmp_path / "site")]
    assert main(flags) == 2, "there is no index yet"
    (made / "pieces.json").rename(there / "pieces.json")
    for piece in index.pieces:
        assert main(flags) == 4
        assert piece.name in capfd.readouterr().out
        (made / piece.name).rename(there / piece.name)
    assert main(flags) == 0
    assert "not-installed-anywhere>=2 (by carried)" in capfd.readouterr().out
    assert (tmp_path / "site/carried.py").read_text() == "THERE = True\n"
    assert main(flags) == 0, "a second time as well"


def test_a_piece_is_no_larger_than_a_carrier_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from gpu.wheels import main

    assert main(["make", "--piece-mib", "56", "--wheels", str(tmp_path / "wheels")]) == 2
    assert "--piece-mib 56: expected 1 to 55" in capsys.readouterr().err
    assert not (tmp_path / "wheels").exists()


def test_the_index_is_json_that_a_person_can_read(tmp_path: Path) -> None:
    from gpu.pieces import split

    split(written(tmp_path, [b"ab"]), tmp_path / "pieces", 1)
    content = json.loads((tmp_path / "pieces/pieces.json").read_text())
    assert [piece["name"] for piece in content["pieces"]] == ["piece-01", "piece-02"]
    assert content["files"][0]["bytes"] == 2
