"""The size of an image from its first bytes: that of Pillow, whatever wrote the file, or a fault."""

import io
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from zoo.image_header import image_size

PIXELS = np.random.default_rng(0).integers(0, 255, (40, 50, 3)).astype(np.uint8)
EXIF = Image.Exif()
EXIF[0x010E] = "a long description " * 50
KINDS: list[tuple[str, dict[str, object]]] = [
    ("JPEG", {}),
    ("JPEG", {"progressive": True, "exif": EXIF, "comment": b"a comment"}),
    ("PNG", {}),
    ("BMP", {}),
    ("TIFF", {}),
    ("TIFF", {"compression": "tiff_lzw"}),
    ("TIFF", {"big_tiff": True}),
    ("WEBP", {}),
    ("WEBP", {"lossless": True}),
    ("WEBP", {"exif": EXIF}),
]


def encoded(kind: str, options: dict[str, object], pixels: np.ndarray = PIXELS) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format=kind, **options)
    return stream.getvalue()


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_the_size(kind: str, options: dict[str, object]) -> None:
    content = encoded(kind, options)
    assert image_size(content) == (40, 50)
    for length in range(0, len(content), 7):  # a part of it has that size, none, or a fault
        try:
            assert image_size(content[:length]) in ((40, 50), None)
        except ValueError:
            continue


def test_other_headers() -> None:
    os2 = b"BM" + bytes(12) + struct.pack("<IHHHH", 12, 50, 40, 1, 24)
    assert image_size(os2) == (40, 50)
    from_the_top = b"BM" + bytes(12) + struct.pack("<Iii", 40, 50, -40)
    assert image_size(from_the_top) == (40, 50)
    assert image_size(encoded("TIFF", {}, PIXELS.byteswap())) == (40, 50)
    for content in (b"", b"GIF89a", b"%!PS-Adobe-3.0", bytes(100)):
        assert image_size(content) is None


def test_a_size_that_is_there_twice_is_refused() -> None:
    """Libraries differ in which one they take."""
    entries = [(256, 4, 1, 50_000), (256, 4, 1, 50), (257, 4, 1, 40)]
    content = b"II*\x00" + struct.pack("<IH", 8, len(entries))
    content += b"".join(struct.pack("<HHII", *entry) for entry in entries)
    with pytest.raises(ValueError, match="its header has two widths or heights"):
        image_size(content)


def test_a_broken_header() -> None:
    for content in (
        b"\xff\xd8\xff",
        b"\xff\xd8\xff\xc4\x00\x00" * 3,
        b"BM" + bytes(60),
        b"II*\x00\x08\x00\x00\x00\x00\x00",
    ):
        with pytest.raises(ValueError, match="header"):
            image_size(content)


@given(
    st.sampled_from([b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"BM", b"RIFF0000WEBP", b"II*\x00", b"MM\x00+"]),
    st.binary(),
)
def test_any_bytes(signature: bytes, rest: bytes) -> None:
    try:
        size = image_size(signature + rest)
    except ValueError:
        return
    assert size is not None
    assert min(size) > 0
