"""The digits on disk, as the layouts that they have: COCO annotations, and a label map for each image.

Reads the shipped `val` and whatever `tools/make_digits.py` has written; needs neither scikit-learn nor scikit-image.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zoo.datasets.coco.detection import CocoDetection
from zoo.datasets.coco.instances import CocoInstances
from zoo.datasets.coco.runs import mask_of
from zoo.datasets.digits.cache import ANNOTATIONS, existing_split
from zoo.datasets.digits.corners import CORNERS, corner_points
from zoo.datasets.digits.generated_split import SHIPPED, GeneratedSplit
from zoo.datasets.files.faults import Faults
from zoo.datasets.files.folder_files import files_by_name
from zoo.datasets.label_maps.label_map_dataset import LabelMapDataset, Pair, paired
from zoo.registry import DATASETS
from zoo.tasks import ClassInfo
from zoo.tasks.class_info import IGNORE_LABEL

DIGITS = tuple(ClassInfo(str(digit), digit + 1) for digit in range(10))
OBJECT_CLASSES = (ClassInfo("background", None), *DIGITS)
PIXEL_CLASSES = (ClassInfo("background", 0), *DIGITS)


@DATASETS.register_module()
class DigitsDetection(GeneratedSplit, CocoDetection):
    """A split's boxes, around the visible strokes; "areas" counts visible pixels.

    `root` holds the split's folder; by default `val` is the shipped one, and the others are in the cache. Raises
    InputError, which says how to make the split, where it is not there.
    """

    def __init__(
        self, split: str = SHIPPED, root: str | Path | None = None, *, classes: Sequence[ClassInfo] = OBJECT_CLASSES
    ) -> None:
        folder = existing_split(split, root)
        super().__init__(folder / "images", folder / ANNOTATIONS, classes=classes)


@DATASETS.register_module()
class DigitsInstances(GeneratedSplit, CocoInstances):
    """A split's boxes and the masks of the visible strokes; `root` as for DigitsDetection."""

    def __init__(
        self, split: str = SHIPPED, root: str | Path | None = None, *, classes: Sequence[ClassInfo] = OBJECT_CLASSES
    ) -> None:
        folder = existing_split(split, root)
        super().__init__(folder / "images", folder / ANNOTATIONS, classes=classes)


@DATASETS.register_module()
class DigitsKeypoints(DigitsInstances):
    """A split's boxes, and "keypoints" float32 [n, 4, 3], the corners of the visible strokes; `root` as above.

    They are computed from the masks, see `corner_points`.
    """

    def _truth(self, index: int) -> dict[str, Any]:
        truth = super()._truth(index)
        corners = [corner_points(mask_of(mask)) for mask in truth.pop("masks")]
        return truth | {"keypoints": np.asarray(corners, np.float32).reshape(-1, len(CORNERS), 3)}


@DATASETS.register_module()
class DigitsSegmentation(GeneratedSplit, LabelMapDataset):
    """A split's label maps: 0 background, d + 1 the visible stroke of digit d; `root` as for DigitsDetection."""

    def __init__(
        self, split: str = SHIPPED, root: str | Path | None = None, *, classes: Sequence[ClassInfo] = PIXEL_CLASSES
    ) -> None:
        self.folder = existing_split(split, root)
        super().__init__(classes=classes, ignored={IGNORE_LABEL})

    def _pairs(self, faults: Faults) -> Iterator[Pair]:
        images = files_by_name(self.folder / "images", "*", ".jpg", faults)
        return paired(images, files_by_name(self.folder / "label_maps", "*", ".png", faults), faults)
