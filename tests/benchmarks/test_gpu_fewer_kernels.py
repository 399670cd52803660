"""Wheels without the kernels of other GPUs: what a device cannot run is zeros, and nothing else has changed."""

import base64
import hashlib
import struct
import zipfile
from pathlib import Path

import pytest

from zoo.errors import InputError

pytestmark = pytest.mark.usefixtures("benchmarks")
CODE, PTX = 2, 1


def fat_binary(*kernels: tuple[int, int, bytes]) -> bytes:
    """(kind, capability, content) of each."""
    entries = b""
    for kind, capability, content in kernels:
        header = struct.pack("<HHIQ", kind, 1, 64, len(content)) + bytes(12) + struct.pack("<I", capability)
        entries += header.ljust(64, b"\0") + content
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


def library(*capabilities: int) -> bytes:
    first = fat_binary(*((CODE, capability, b"%d" % capability * 8) for capability in capabilities))
    long = fat_binary((CODE, 75, b"x"))[:20]  # says that more follows than there is
    cut = fat_binary((CODE, 75, b"x"))[:12]  # a part of a header
    return b"\x7fELF code " + first + b" data " + fat_binary((PTX, 75, b"ptx")) + b" more " + long + cut


def wheel(folder: Path, content: bytes) -> Path:
    path = folder / "some-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("some/lib.so.1", content)
        archive.writestr("some/__init__.py", "pass\n")
        archive.writestr("some-1.0.dist-info/RECORD", "some/lib.so.1,sha256=old,1\nsome/__init__.py,sha256=kept,5\n")
    return path


def read(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_device_keeps_what_it_can_run(tmp_path: Path) -> None:
    from gpu.fewer_kernels import shrink

    before = library(75, 80, 86, 89, 90)
    path = wheel(tmp_path, before)
    shrink(path, 86)
    files = read(path)
    after = files["some/lib.so.1"]
    for capability in (75, 89, 90):
        before = before.replace(b"%d" % capability * 8, bytes(16))
    assert after == before
    digest = base64.urlsafe_b64encode(hashlib.sha256(after).digest()).rstrip(b"=").decode()
    assert files["some-1.0.dist-info/RECORD"].decode().splitlines() == [
        f"some/lib.so.1,sha256={digest},{len(after)}",
        "some/__init__.py,sha256=kept,5",
    ]
    assert files["some/__init__.py"] == b"pass\n"


def test_a_wheel_without_kernels_stays_as_it_is(tmp_path: Path) -> None:
    from gpu.fewer_kernels import shrink

    path = wheel(tmp_path, b"\x7fELF no kernels")
    before = path.read_bytes()
    assert shrink(path, 90) == 0
    assert path.read_bytes() == before


def test_a_device_that_nothing_is_for_is_refused(tmp_path: Path) -> None:
    from gpu.fewer_kernels import shrink

    path = wheel(tmp_path, library(80, 90))
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"it has kernels for 8\.0, 9\.0 and none for 12\.0; make the pieces without"):
        shrink(path, 120)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
