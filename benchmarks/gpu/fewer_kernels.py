"""Wheels without the kernels of other GPUs: onnxruntime-gpu packs to a third, since most of it is kernels.

A library holds its kernels as "fat binaries": a header (magic 0xBA55ED50, version, size of the header, size of what
follows), then entries: kind, version, size of the entry's header, size of its content, and at byte 28 the compute
capability, 90 for 9.0. CUDA takes the entry that fits the device; the others are never read. Zeros take their place, so
that nothing moves.
"""

import base64
import hashlib
import struct
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from zoo.errors import InputError
from zoo.files.writing import staged

MAGIC = struct.pack("<IHH", 0xBA55ED50, 1, 16)
HEADER = 16
MACHINE_CODE = 2  # the kind of an entry; the other one, PTX, may be compiled for any later device
CAPABILITY = 28
SMALLEST = 32  # bytes of an entry's header


def without_other_kernels(library: bytes, capability: int) -> bytes:
    """The content of a library; kernels that a device of this capability (90 is 9.0) cannot run are zeros."""
    content = bytearray(library)
    for start, size, built_for in _kernels(library):
        if built_for // 10 != capability // 10 or built_for > capability:
            content[start : start + size] = bytes(size)
    return bytes(content)


def shrink(wheel: Path, capability: int) -> int:
    """Write the wheel again without the kernels of other devices; the bytes that this saves.

    Raises InputError for a wheel that has kernels, and none for this device.
    """
    before = wheel.stat().st_size
    with ZipFile(wheel) as archive:
        files = {entry.filename: archive.read(entry) for entry in archive.infolist() if not entry.is_dir()}
    built_for = set[int]()
    record = next(name for name in files if name.endswith(".dist-info/RECORD"))
    for name, content in files.items():
        if capabilities := {one for _, _, one in _kernels(content)} if ".so" in name else set():
            built_for |= capabilities
            files[name] = without_other_kernels(content, capability)
            files[record] = _with_hash(files[record].decode(), name, files[name]).encode()
    if not built_for:
        return 0
    if not any(one // 10 == capability // 10 and one <= capability for one in built_for):
        raise InputError(
            f"{wheel.name}: it has kernels for {', '.join(map(_words, sorted(built_for)))} and none for "
            f"{_words(capability)}; make the pieces without --capability"
        )
    with staged(wheel) as place, ZipFile(place, "w", ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return before - wheel.stat().st_size


def _kernels(library: bytes) -> Iterator[tuple[int, int, int]]:
    """Of each kernel where its machine code begins, its bytes, and the capability that it was built for."""
    place = library.find(MAGIC)
    while 0 <= place <= len(library) - HEADER:
        (length,) = struct.unpack_from("<Q", library, place + len(MAGIC))
        entry, end = place + HEADER, place + HEADER + length
        if end > len(library):  # the same bytes by chance
            place = library.find(MAGIC, place + 1)
            continue
        while entry + SMALLEST <= end:
            kind, _, header, size = struct.unpack_from("<HHIQ", library, entry)
            (built_for,) = struct.unpack_from("<I", library, entry + CAPABILITY)
            if header < SMALLEST or entry + header + size > end:
                break
            if kind == MACHINE_CODE:
                yield entry + header, size, built_for
            entry += header + size
        place = library.find(MAGIC, end)


def _with_hash(record: str, name: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    row = f"{name},sha256={digest},{len(content)}"
    return "".join(f"{row if old.startswith(f'{name},') else old}\n" for old in record.splitlines())


def _words(capability: int) -> str:
    return f"{capability // 10}.{capability % 10}"
