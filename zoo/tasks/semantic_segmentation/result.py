"""The class of every pixel of one image."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.optional_library import optional_library
from zoo.tasks.mask_boxes import mask_boxes
from zoo.tasks.result import Result, frozen_array
from zoo.tasks.run_lengths import run_lengths

MAP_DIMS = 2


class Segment(NamedTuple):
    """The pixels of one class: its name, the model's own id, and a mask bool [h, w] of the image's size."""

    name: str
    label: int
    mask: NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class SegmentationResult(Result):
    """`label_map` uint8 or int32 [h, w] of the image's size: the model's own class ids. Read-only; equal by value.

    A loop over it gives the classes that are there, each as a `Segment`.
    """

    columns: ClassVar[Mapping[str, str]] = {"class": "string", "label": "int64", "pixels": "int64", "share": "float64"}
    has_coco: ClassVar[bool] = True

    label_map: NDArray[Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "label_map", frozen_array(self.label_map))
        if self.label_map.ndim != MAP_DIMS or self.label_map.dtype not in (np.uint8, np.int32):
            raise InputError(
                f"label map: got {self.label_map.dtype} {list(self.label_map.shape)}, expected uint8 or int32 [h, w]"
            )

    def __len__(self) -> int:
        """How many classes are there."""
        return len(np.unique(self.label_map))

    def __iter__(self) -> Iterator[Segment]:
        for label in np.unique(self.label_map).tolist():
            yield Segment(self.class_name(label), label, self.label_map == label)

    def to_dict(self) -> dict[str, Any]:
        """{"size": [h, w], "segments": [{class, label, pixels, mask}, ...]}; masks are COCO's run lengths."""
        segments = [
            {"class": name, "label": label, "pixels": int(mask.sum()), "mask": run_lengths(mask)}
            for name, label, mask in self
        ]
        return {"size": list(self.label_map.shape), "segments": segments}

    def rows(self) -> list[dict[str, Any]]:
        """One for each class that is there: how many pixels it has, and which share of the image, 0..1."""
        labels, counts = np.unique(self.label_map, return_counts=True)
        return [
            {"class": self.class_name(label), "label": label, "pixels": count, "share": count / self.label_map.size}
            for label, count in zip(labels.tolist(), counts.tolist(), strict=True)
        ]

    def to_coco(self, image_id: int) -> list[dict[str, Any]]:
        """COCO's results of "stuff": {image_id, category_id, segmentation}.

        Classes without a category id have no place there.
        """
        return [
            {"image_id": image_id, "category_id": category, "segmentation": run_lengths(mask)}
            for _, label, mask in self
            if (category := self._category(label)) is not None
        ]

    def to_supervision(self) -> Any:
        """`supervision.Detections` with one mask for each class that is there."""
        library = optional_library("supervision", "supervision", "to_supervision()")
        names, labels, masks = zip(*self, strict=True)
        stack = np.stack(masks)
        return library.Detections(
            xyxy=mask_boxes(stack),
            mask=stack,
            class_id=np.array(labels),
            data={"class_name": np.array(names, np.str_)},
        )

    def summary(self) -> str:
        """The classes, the largest first, with their share of the image."""
        rows = sorted(self.rows(), key=lambda row: -row["pixels"])
        height, width = self.label_map.shape
        return f"{width}x{height} pixels: " + ", ".join(f"{row['share']:.0%} {row['class']}" for row in rows)
