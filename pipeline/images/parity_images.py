"""The images that parity runs on: the user's, and the data set's where those are too few."""

from collections.abc import Sequence
from pathlib import Path

from pipeline.images.named_image import NamedImage, distinct, read_image
from zoo.config import ModelConfig
from zoo.datasets import config_dataset
from zoo.errors import InputError
from zoo.preprocess import Preprocess
from zoo.printable import printable
from zoo.target import Target

FROM_DATASET = 4
LEAST = 2  # of different content: a graph that froze what it saw in one image must show


def parity_images(
    config: ModelConfig, paths: Sequence[str | Path], preprocess: Preprocess, target: Target, count: int = FROM_DATASET
) -> list[NamedImage]:
    """The images at ``paths``, and ``count`` of the config's data set where those are fewer than two contents.

    Raises InputError for a file that is not a whole image, one that the target's sizes cannot take, and where two
    different images cannot be had.
    """
    read = [read_image(path) for path in paths]
    for path, image in zip(paths, read, strict=True):
        if fault := misfit(image, preprocess, target):
            raise InputError(f"image {path}: {fault}; give another image or wider --dynamic bounds")
    chosen = distinct(read)
    if len(chosen) < LEAST:
        chosen = distinct([*chosen, *_from_dataset(config, preprocess, target, count)])
    if len(chosen) < LEAST:
        raise InputError(
            f"config {config.path}: parity needs {LEAST} different images that fit the target, got {len(chosen)}; "
            "give --image twice or more"
        )
    return chosen


def misfit(image: NamedImage, preprocess: Preprocess, target: Target) -> str | None:
    """Why the target's sizes cannot take the image; None where they can."""
    sides = preprocess.geometry(*image.pixels.shape[:2]).tensor_size
    for axis, side in zip(("height", "width"), sides, strict=True):
        bounds = target.axes[axis]
        if side not in bounds:
            return f"its tensor would have {axis} {side}, the target takes {bounds.min} to {bounds.max}"
    return None


def _from_dataset(config: ModelConfig, preprocess: Preprocess, target: Target, count: int) -> list[NamedImage]:
    if config.dataset is None:
        return []
    dataset = config_dataset(config, "dataset")
    chosen: list[NamedImage] = []
    for start in range(len(dataset)):  # evenly spread ones first, then their neighbours
        step = max(1, len(dataset) // count)
        item = dataset.image_item((start * step + start // count) % len(dataset))
        image = NamedImage(printable(Path(item["path"]).name), item["image"])
        if misfit(image, preprocess, target) is None:
            chosen.append(image)
        if len(chosen) == count:
            break
    return chosen
