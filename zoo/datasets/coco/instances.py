"""Boxes and masks of a COCO annotation file."""

from collections.abc import Iterator
from typing import Any

from zoo.datasets.coco.detection import CocoDetection, Wrong
from zoo.datasets.coco.document import Record
from zoo.datasets.coco.masks import mask_fault, run_lengths
from zoo.registry import DATASETS


@DATASETS.register_module()
class CocoInstances(CocoDetection):
    """As CocoDetection, and "masks": n masks in COCO's compressed run lengths {"size": [h, w], "counts": bytes}.

    Polygons and uncompressed run lengths are converted when an item is read, which needs pycocotools.
    """

    def _wrong(self, record: Record, size: tuple[int, int]) -> Iterator[Wrong]:
        yield from super()._wrong(record, size)
        if message := mask_fault(record.get("segmentation"), size):
            yield "segmentation", message

    def _truth(self, index: int) -> dict[str, Any]:
        size = self.entries[index].size
        masks = [run_lengths(record["segmentation"], size) for record in self.annotations[index]]
        return super()._truth(index) | {"masks": masks}
