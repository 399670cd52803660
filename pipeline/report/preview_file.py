"""The preview of one image as it lies beside a deployment."""

from pathlib import Path

from pipeline.proof.preview import second_of_two
from zoo.errors import InputError
from zoo.image_pixels import ImageFileError, read_pixels
from zoo.opened_file import OpenedFile
from zoo.tasks.highlight import Image


def read_result(file: OpenedFile) -> Image:
    """What the backend found, drawn: uint8 BGR. Raises InputError where the file is no image."""
    try:
        return second_of_two(read_pixels(Path(file.link or file.path)))
    except (ImageFileError, OSError) as error:
        raise InputError(f"{file.path}: {error}, or deploy the model again with zooport deploy") from error
