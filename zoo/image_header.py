"""The size of an image from the first bytes of its file: JPEG, PNG, BMP, TIFF and WebP, by content, without a library.

Nothing is decoded: a file that says it has more pixels than anybody wants is known before any memory is taken.
"""

import struct
from collections.abc import Callable

Size = tuple[int, int]

JPEG_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # markers that begin a frame, and not a table
JPEG_ALONE = {0x01, *range(0xD0, 0xD9)}  # markers without a length
CORE_HEADER = 12  # of OS/2: sides of 16 bits
TIFF_WIDTH, TIFF_HEIGHT = 256, 257
TIFF_SHORT = 3
BIG_TIFF = 43
SIGNATURE_BYTES = 16


def is_known_format(start: bytes) -> bool:
    """Whether a file that begins so, with at least SIGNATURE_BYTES, is of one of the formats."""
    return any(start[place : place + len(signature)] == signature for signature, place, _ in SIGNATURES)


def image_size(content: bytes) -> Size | None:
    """(height, width) as stored, of a file of a known format; None for another format.

    Raises ValueError where the format is known and its header is broken.
    """
    for signature, place, read in SIGNATURES:
        if content[place : place + len(signature)] == signature:
            try:
                size = read(content)
            except (struct.error, IndexError, OverflowError) as error:
                raise ValueError("the file ends within its header") from error
            if min(size) < 1:
                raise ValueError(f"its header says {size[1]}x{size[0]} pixels")
            return size
    return None


def _jpeg(content: bytes) -> Size:
    """Of the first frame: marker after marker, each with its length."""
    place = 2
    while True:
        if content[place] != 0xFF:  # noqa: PLR2004 - every marker begins so
            raise ValueError("a marker of its header is broken")
        marker = content[place + 1]
        if marker == 0xFF:  # noqa: PLR2004 - a filling byte
            place += 1
        elif marker in JPEG_ALONE:
            place += 2
        elif marker in JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", content, place + 5)
            return height, width
        else:
            place += 2 + struct.unpack_from(">H", content, place + 2)[0]


def _png(content: bytes) -> Size:
    width, height = struct.unpack_from(">II", content, 16)
    return height, width


def _bmp(content: bytes) -> Size:
    """A negative height says that the rows begin at the top."""
    (header,) = struct.unpack_from("<I", content, 14)
    width, height = struct.unpack_from("<HH" if header == CORE_HEADER else "<ii", content, 18)
    return abs(height), width


def _webp(content: bytes) -> Size:
    kind = content[12:16]
    if kind == b"VP8X":
        (sides,) = struct.unpack_from("6s", content, 24)
        return int.from_bytes(sides[3:6], "little") + 1, int.from_bytes(sides[:3], "little") + 1
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", content, 21)
        return (bits >> 14 & 0x3FFF) + 1, (bits & 0x3FFF) + 1
    width, height = struct.unpack_from("<HH", content, 26)
    return height & 0x3FFF, width & 0x3FFF


def _tiff(content: bytes) -> Size:
    """Of the first image in the file; offsets have 32 bits, in a "big" file 64."""
    order = "<" if content[:2] == b"II" else ">"
    big = struct.unpack_from(order + "H", content, 2)[0] == BIG_TIFF
    offset, entry, value = ("Q", 20, 12) if big else ("I", 12, 8)
    (start,) = struct.unpack_from(order + offset, content, 8 if big else 4)
    (entries,) = struct.unpack_from(order + ("Q" if big else "H"), content, start)
    first = start + (8 if big else 2)
    sides: dict[int, int] = {}
    for place in range(first, min(first + entry * entries, len(content)), entry):
        tag, kind = struct.unpack_from(order + "HH", content, place)
        if tag in (TIFF_WIDTH, TIFF_HEIGHT):
            if tag in sides:
                raise ValueError("its header has two widths or heights")  # libraries differ in which they take
            sides[tag] = struct.unpack_from(order + ("H" if kind == TIFF_SHORT else "I"), content, place + value)[0]
    if len(sides) < len((TIFF_WIDTH, TIFF_HEIGHT)):
        raise ValueError("its header has no size")
    return sides[TIFF_HEIGHT], sides[TIFF_WIDTH]


SIGNATURES: tuple[tuple[bytes, int, Callable[[bytes], Size]], ...] = (
    (b"\xff\xd8\xff", 0, _jpeg),
    (b"\x89PNG\r\n\x1a\n", 0, _png),
    (b"BM", 0, _bmp),
    (b"WEBP", 8, _webp),
    (b"II*\x00", 0, _tiff),
    (b"MM\x00*", 0, _tiff),
    (b"II+\x00", 0, _tiff),
    (b"MM\x00+", 0, _tiff),
)
"""What a file of each format begins with, where, and what reads its size."""
