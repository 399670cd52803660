"""Image files as Pillow sees them: their headers, and values as they are stored. `zoo.image_pixels` decodes pixels.

Pillow's general `Image.open` is not used: its plugins for other formats start programs (Ghostscript, for a PostScript
file of any name), and its bound on pixels is one of the whole process.
"""

from pathlib import Path
from typing import IO, Any, NamedTuple

# each registers its format in Image.OPEN
from PIL import BmpImagePlugin, Image, JpegImagePlugin, PngImagePlugin, TiffImagePlugin, WebPImagePlugin  # noqa: F401

from zoo.image_header import SIGNATURE_BYTES
from zoo.image_pixels import GIVE, UNKNOWN, ImageFileError, check_bound, opened_image

ORIENTATION, TURNED = 0x0112, range(5, 9)  # EXIF's tag, and its values for a quarter of a turn
FORMATS = ("JPEG", "PNG", "BMP", "TIFF", "WEBP")


class Header(NamedTuple):
    """`size` (height, width) in pixels, as stored: an orientation tag is not applied. `mode` is PIL's."""

    size: tuple[int, int]
    mode: str


def read_header(path: Path) -> Header:
    """Size and mode, without decoding. Raises ImageFileError, and FileNotFoundError."""
    with opened_image(path) as stream:
        image = _identified(stream)
        return Header((image.height, image.width), image.mode)


def is_turned(path: Path) -> bool:
    """Whether the file has an orientation tag by which height and width change places. Raises as `read_header`."""
    with opened_image(path) as stream:
        image = _identified(stream)
        if isinstance(image, PngImagePlugin.PngImageFile) and "exif" not in image.info:
            return False  # Pillow would decode the whole image to look for one
        try:
            return image.getexif().get(ORIENTATION) in TURNED
        except Exception:  # noqa: BLE001  # a broken tag says nothing
            return False


def read_stored(path: Path) -> Any:
    """PIL's image of a whole file: its values as they are stored, of a palette its indices. Raises as `read_header`."""
    with opened_image(path) as stream:
        return _whole(stream)


def _identified(stream: IO[bytes]) -> Image.Image:
    """PIL's image with its header read, of one of the formats alone, and within the bound."""
    signature = stream.read(SIGNATURE_BYTES)
    image: Image.Image | None = None
    for name in FORMATS:
        factory, accepts = Image.OPEN[name]
        if accepts is not None and accepts(signature) is True:
            stream.seek(0)
            try:
                image = factory(stream, "")
            except Exception as error:  # whatever a broken file makes the plugin stumble over
                raise ImageFileError(f"not an image that can be read ({_reason(error)}); {GIVE}") from error
    if image is None:
        raise ImageFileError(UNKNOWN)
    check_bound((image.height, image.width))
    return image


def _whole(stream: IO[bytes]) -> Image.Image:
    image = _identified(stream)
    try:
        image.load()
    except Exception as error:  # as above
        raise ImageFileError(f"corrupt or truncated ({_reason(error)}); give a whole image file") from error
    return image


def _reason(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
