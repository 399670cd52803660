"""Image files: five formats by content, a bound on pixels from the header, and OpenCV's own pixels."""

import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from zoo.datasets.files import image_files
from zoo.datasets.files.faults import Faults
from zoo.errors import InputError
from zoo.image_file import is_turned, read_header, read_stored
from zoo.image_pixels import MAX_PIXELS, ImageFileError, read_pixels
from zoo.input_kinds.image.reading import read_image

ROOT = Path(__file__).parents[2]
PIXELS = np.random.default_rng(0).integers(0, 255, (40, 50, 3)).astype(np.uint8)
FORMATS = ("jpg", "png", "bmp", "tiff", "webp")
OTHERS = ("gif", "ppm", "pgm", "jp2", "hdr", "sr", "pfm", "ico", "pcx", "tga", "eps")
NAMED = r"give a JPEG, PNG, BMP, TIFF or WebP$"
# what Ghostscript runs is chosen by the content; the name does not matter
POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 64 64\n%%EndComments\nshowpage\n%%EOF\n"
OPEN_POSTSCRIPT = """
import sys
from pathlib import Path
from zoo.input_kinds.image.reading import read_image
from zoo.datasets.files.image_files import read_image as read_of_dataset
from zoo.errors import InputError
for read in (read_image, lambda path: read_of_dataset(path, None)):
    try:
        read(Path(sys.argv[1]))
    except InputError as error:
        print(error)
print([name for name in sys.modules if name.startswith("PIL.") and name.endswith("EpsImagePlugin")])
"""


def header_of_png(width: int, height: int) -> bytes:
    """The beginning of a PNG file, with no pixels in it."""
    chunk = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = b"IDAT" + zlib.compress(bytes(100))
    chunks = (struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body)) for body in (chunk, data))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def encoded(ending: str) -> bytes:
    pixels = PIXELS.astype(np.float32) if ending in ("hdr", "pfm") else PIXELS
    if ending == "pgm":
        pixels = pixels[..., 0]
    if ending == "eps":
        return POSTSCRIPT
    if ending in ("ico", "pcx", "tga", "gif"):
        import io

        stream = io.BytesIO()
        Image.fromarray(PIXELS).save(stream, format=ending)
        return stream.getvalue()
    done, content = cv2.imencode(f".{ending}", pixels)
    assert done
    return content.tobytes()


@pytest.mark.parametrize("ending", FORMATS)
def test_the_pixels_are_those_of_opencv_whatever_the_name(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "image.dat"
    path.write_bytes(encoded(ending))
    np.testing.assert_array_equal(read_pixels(path), cv2.imread(str(path)))
    assert read_header(path).size == (40, 50)
    assert np.asarray(read_stored(path)).shape == (40, 50, 3)


def test_an_orientation_tag_turns_the_pixels_where_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(PIXELS).save(path, exif=exif)
    assert read_pixels(path).shape == (50, 40, 3)
    assert read_pixels(path, upright=False).shape == (40, 50, 3)


def test_a_large_file_of_another_format_is_refused_by_its_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "video.jpg"
    with path.open("wb") as stream:
        stream.truncate(2**40)  # sparse, and more than any memory
    with pytest.raises(ImageFileError, match=NAMED):
        read_pixels(path)


@pytest.mark.parametrize("ending", OTHERS)
@pytest.mark.parametrize("name", ["a.png", "a"])
def test_other_formats_are_refused_by_every_reader(tmp_path: Path, ending: str, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(encoded(ending))
    readers: tuple[Callable[[], object], ...] = (
        lambda: read_image(path),
        lambda: image_files.read_image(path, None),
        lambda: image_files.read_values(path, (40, 50)),
    )
    for read in readers:
        with pytest.raises(InputError, match=NAMED):
            read()
    faults = Faults("a")
    assert image_files.check_header(path, faults) is None
    assert image_files.present_values(path, faults) is None
    assert len(faults) == 2


@pytest.mark.slow
def test_a_postscript_file_starts_no_program(tmp_path: Path) -> None:
    program = tmp_path / "gs"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n", encoding="utf-8")
    program.chmod(0o755)
    (tmp_path / "a.jpg").write_bytes(POSTSCRIPT)
    done = subprocess.run(
        [sys.executable, "-c", OPEN_POSTSCRIPT, tmp_path / "a.jpg"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    *errors, modules = done.stdout.splitlines()
    assert len(errors) == 2
    assert all("a.jpg: not an image that can be read" in error for error in errors)
    assert modules == "[]"
    assert not (tmp_path / "started").exists()


def test_a_huge_image_is_refused_by_its_header(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(header_of_png(30_000, 30_000))
    message = (
        f"30000x30000 are 900000000 pixels, more than the bound of {MAX_PIXELS}; give a smaller image, or set "
        "ZOOPORT_MAX_PIXELS=900000000 where you trust it and have the memory"
    )
    with pytest.raises(InputError) as caught:
        read_image(path)
    assert str(caught.value) == f"image {path}: {message}"
    with pytest.raises(InputError) as caught:
        image_files.read_image(path, (30_000, 30_000))
    assert str(caught.value) == f"{path}: {message}"
    with pytest.raises(InputError, match="more than the bound"):
        image_files.read_values(path, (30_000, 30_000))
    faults = Faults("a")
    assert image_files.check_header(path, faults) is None
    assert image_files.present_values(path, faults) is None
    with pytest.raises(InputError, match="2 faults: .*more than the bound.*more than the bound"):
        faults.raise_any()


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(header_of_png(40, 50))
    with path.open("r+b") as file:
        file.truncate(2**40)  # a hole, which takes no room
    with pytest.raises(InputError, match="1099511627776 bytes, more than an image of .* pixels has; give a smaller im"):
        read_image(path)


def test_the_bound_is_the_environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(header_of_png(40, 50))
    monkeypatch.setenv("ZOOPORT_MAX_PIXELS", "1999")
    with pytest.raises(ImageFileError, match=r"40x50 are 2000 pixels, more than the bound of 1999.*MAX_PIXELS=2000"):
        read_pixels(path)
    monkeypatch.setenv("ZOOPORT_MAX_PIXELS", "2000")
    with pytest.raises(ImageFileError, match="corrupt or truncated"):
        read_pixels(path)


def test_beyond_the_usual_bound_pillows_own_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(header_of_png(30_000, 30_000))
    monkeypatch.setenv("ZOOPORT_MAX_PIXELS", "900000000")
    assert read_header(path).size == (30_000, 30_000)


@pytest.mark.parametrize("text", ["", "0", "-1", "many", "1e9", "²", "1073741825", "9" * 5000])
def test_a_bound_that_is_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(encoded("png"))
    monkeypatch.setenv("ZOOPORT_MAX_PIXELS", text)
    with pytest.raises(
        InputError, match=f"ZOOPORT_MAX_PIXELS={text}: expected a number of pixels from 1 to 1073741824"
    ):
        read_image(path)


@pytest.mark.parametrize("ending", FORMATS)
def test_a_truncated_file_is_refused(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "a"
    content = encoded(ending)
    for length in (1, 20, len(content) // 2, len(content) - 40, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(ImageFileError, match="not an image|corrupt or truncated"):
            read_pixels(path)


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    for path in (tmp_path / "pipe.png", tmp_path):
        with pytest.raises(ImageFileError, match="not a file"):
            read_header(path)
    with pytest.raises(FileNotFoundError):
        read_header(tmp_path / "none.png")


def test_no_code_of_ours_opens_images_by_all_of_pillows_plugins() -> None:
    for folder in ("zoo", "rewriters", "backends", "pipeline", "tools", "zooport"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            assert "Image.open(" not in text, path
            assert "imread(" not in text.replace("cv2.imread(path)", ""), path


def test_whether_a_file_is_turned_is_known_without_decoding_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for value, turned in ((None, False), (1, False), (3, False), (6, True), (8, True)):
        tag = Image.Exif()
        if value is not None:
            tag[0x0112] = value
        for kind in ("jpg", "png", "webp", "tiff"):
            Image.fromarray(PIXELS).save(tmp_path / f"a.{kind}", exif=tag)
            assert is_turned(tmp_path / f"a.{kind}") == turned, (kind, value)

    def decoded(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(PngImagePlugin.PngImageFile, "load", decoded)
    Image.fromarray(PIXELS).save(tmp_path / "plain.png")
    assert not is_turned(tmp_path / "plain.png")
    assert read_header(tmp_path / "plain.png").size == PIXELS.shape[:2]
