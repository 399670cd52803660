"""The data sets that zooport makes itself, by their names in a config. Known without torch, unlike zoo.datasets."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from zoo.shipped import shipped_path


@dataclass(frozen=True)
class GeneratedData:
    """``folder``: in zoo/data; it has a folder for each split, of which ``shipped`` is in the repository, and a README.

    ``description``: the file of a split that says what the split holds; None where there is none.
    ``recipes``: whether training data is generated for a recipe without a ``train_dataset``.
    """

    folder: str
    shipped: str
    description: str | None
    recipes: bool

    @property
    def root(self) -> Path:
        """The folder."""
        return shipped_path(f"zoo/data/{self.folder}")


DIGITS = GeneratedData("digits", "val", "annotations.json", recipes=True)
PHOTOGRAPHS = GeneratedData("photographs", "val", None, recipes=True)
STREETS = GeneratedData("streets", "shipped", "scenes.json", recipes=False)

_OF_DIGITS = ("Classification", "Detection", "Instances", "Keypoints", "Segmentation")
GENERATED: Mapping[str, GeneratedData] = {
    **{f"Digits{name}": DIGITS for name in _OF_DIGITS},
    "RotatedDigits": DIGITS,
    "PhotographCrops": PHOTOGRAPHS,
    "Streets": STREETS,
}
"""By the ``type`` of a config's section."""
