"""What a config for data of one's own is to be made of."""

from dataclasses import dataclass
from pathlib import Path

from zoo.config import ModelConfig


@dataclass(frozen=True)
class DataRequest:
    """`base`: the config whose model is trained. `data`: a file or folder in one of the layouts. `out`: the config.

    `images`: the folder of the images, where `data` has none. `val`: data of the same layout to be judged on;
    `val_images`: the folder of its images, where that is another.
    `classes`: names, where `data` has none. `force`: replace files, but never `base`, `data` or `val`.
    """

    base: ModelConfig
    data: Path
    out: Path
    images: Path | None = None
    val: Path | None = None
    val_images: Path | None = None
    classes: tuple[str, ...] = ()
    force: bool = False

    def images_of(self, data: Path) -> Path | None:
        """The folder of the images of `data`, which is the request's or its `val`."""
        return self.val_images if data == self.val and self.val_images is not None else self.images
