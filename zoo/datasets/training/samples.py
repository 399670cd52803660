"""Training samples of any data set that has a truth: its images in turn, placed, mirrored and in other colours."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from zoo.datasets.coco.runs import mask_of
from zoo.datasets.evaluation_dataset import EvaluationDataset
from zoo.datasets.training.collating import collate
from zoo.datasets.training.colours import recolour
from zoo.datasets.training.placement import Placement
from zoo.datasets.training.turns import chosen
from zoo.preprocess import Preprocess
from zoo.tasks.class_info import IGNORE_LABEL

PASSED_OVER = ("iscrowd", "difficult")  # objects with one of these flags are not learned
MIRRORED = 0.5  # part of the samples


class TrainingSamples(Dataset[dict[str, Tensor]]):
    """`length` samples: each pass over the images of `dataset` takes them in another order.

    An item has "image" float32 [3, H, W], RGB, 0..1, where (H, W) = `crop`, and what the data set's truth has: "boxes"
    float32 [n, 4], or "rotated_boxes" float32 [n, 5], and "labels" int64 [n] with "masks" uint8 [n, H, W], 0 or 1, and
    "keypoints" float32 [n, P, 3]; "label_map" int64 [H, W], 255 where ignored and around the image; "label" int64 [].
    The image is resized by `rule`, times a factor from `scale` (log-uniform), and put or cropped at a random place.
    Crowds, difficult objects and boxes that are cut off or under 4 pixels are left out; rotated boxes stay whole while
    their centre is there. `mirror`: every other sample, at random, is mirrored.
    The same seed gives the same samples.
    """

    sized: ClassVar[bool] = True
    collate = staticmethod(collate)

    def __init__(
        self,
        dataset: EvaluationDataset,
        length: int,
        *,
        rule: Preprocess,
        crop: tuple[int, int],
        scale: tuple[float, float],
        mirror: bool,
        seed: int,
    ) -> None:
        self.dataset, self.length, self.rule, self.crop = dataset, length, rule, crop
        self.scale, self.mirror, self.seed = scale, mirror, seed

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        rng = np.random.default_rng([self.seed, index])
        item = self.dataset[chosen(index, len(self.dataset), self.seed)]
        if self.mirror and rng.random() < MIRRORED:
            item = mirrored(item)
        size = item["image"].shape[:2]
        placement = Placement.random(rng, size, self._factors(size), self.scale, self.crop)
        image = placement.image(item["image"], self.rule.pad_bytes, self.rule.interpolation)
        pixels = np.ascontiguousarray(recolour(image, rng).transpose(2, 0, 1))
        sample = {"image": torch.from_numpy(pixels)}
        if "label_map" in item:
            label_map = placement.image(item["label_map"], IGNORE_LABEL, "nearest")
            sample["label_map"] = torch.from_numpy(label_map.astype(np.int64))
        if "label" in item:
            sample["label"] = torch.tensor(item["label"])
        if "rotated_boxes" in item:
            return sample | placed_rotated(item, placement)
        return sample | (placed_objects(item, placement) if "boxes" in item else {})

    def _factors(self, size: Sequence[int]) -> tuple[float, float]:
        """How many pixels of the tensor one of an image of `size` (height, width) becomes, (x, y), by the rule."""
        if self.rule.size is None or self.rule.crops:
            (height, width), resized = size, self.rule.geometry(*size).resized_size
            return resized[1] / width, resized[0] / height
        y, x = (want / have for want, have in zip(self.rule.size, size, strict=True))
        return (x, y) if self.rule.resize == "stretch" else (min(x, y), min(x, y))


def placed_objects(item: dict[str, Any], placement: Placement) -> dict[str, Tensor]:
    """The objects of an item that a model learns, in the tensor."""
    numbers = learned(item)
    boxes, kept = placement.boxes(item["boxes"][numbers])
    kept = numbers[kept]
    objects = {"boxes": torch.from_numpy(boxes), "labels": torch.from_numpy(item["labels"][kept])}
    if "masks" in item:
        masks = [placement.image(_pixels(item["masks"][index]), 0, "nearest") for index in kept]
        objects["masks"] = torch.from_numpy(np.asarray(masks, np.uint8).reshape(-1, *placement.crop))
    if "keypoints" in item:
        objects["keypoints"] = torch.from_numpy(placement.points(item["keypoints"][kept]))
    return objects


def placed_rotated(item: dict[str, Any], placement: Placement) -> dict[str, Tensor]:
    """The objects with rotated boxes of an item that a model learns, in the tensor."""
    numbers = learned(item)
    boxes, kept = placement.rotated_boxes(item["rotated_boxes"][numbers])
    return {"rotated_boxes": torch.from_numpy(boxes), "labels": torch.from_numpy(item["labels"][numbers[kept]])}


def learned(item: Mapping[str, Any]) -> NDArray[np.int64]:
    """The numbers of an item's objects without the flags that pass them over."""
    flags = [np.asarray(item[flag], bool) for flag in PASSED_OVER if flag in item]
    return np.flatnonzero(~np.any([np.zeros(len(item["labels"]), bool), *flags], axis=0))


def mirrored(item: dict[str, Any]) -> dict[str, Any]:
    """An item, left and right swapped. It may not have keypoints: they would have to change their names."""
    image = item["image"]
    changed: dict[str, Any] = {"image": np.ascontiguousarray(image[:, ::-1])}
    if "label_map" in item:
        changed["label_map"] = np.ascontiguousarray(item["label_map"][:, ::-1])
    if "boxes" in item:
        boxes = item["boxes"]
        width = np.float32(image.shape[1])
        changed["boxes"] = np.stack([width - boxes[:, 2], boxes[:, 1], width - boxes[:, 0], boxes[:, 3]], axis=1)
    if "rotated_boxes" in item:
        x, *others, angle = item["rotated_boxes"].T
        changed["rotated_boxes"] = np.stack([np.float32(image.shape[1]) - x, *others, -angle], axis=1)
    if "masks" in item:
        changed["masks"] = [np.ascontiguousarray(_pixels(mask)[:, ::-1]) for mask in item["masks"]]
    return item | changed


def _pixels(mask: Any) -> NDArray[np.uint8]:
    """A mask, in COCO's run lengths or as pixels already: uint8 [h, w], 0 or 1."""
    return mask if isinstance(mask, np.ndarray) else mask_of(mask).astype(np.uint8)
