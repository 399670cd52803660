"""The digits data set on disk: a split folder with images/, label_maps/ and annotations.json (COCO).

Reads the shipped `val` and whatever `tools/make_digits.py` has written; needs neither scikit-learn nor scikit-image.
"""

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Dataset

from zoo.errors import InputError
from zoo.registry import DATASETS

DIGITS_ROOT = Path(__file__).resolve().parent.parent / "data" / "digits"


class DigitsFolder(Dataset[dict[str, Any]]):
    """What both views share: the images of a split, in the order of annotations.json.

    `root` is the folder that holds the split's folder; by default the one shipped with the zoo, which has `val` alone.
    Raises InputError where the split or a file of it is missing or unreadable.
    """

    def __init__(self, split: str = "val", root: str | Path | None = None) -> None:
        self.folder = Path(root or DIGITS_ROOT) / split
        path = self.folder / "annotations.json"
        if not path.is_file():
            raise InputError(
                f'digits split "{split}": no {path}; make it with '
                f"python tools/make_digits.py {split} --out {self.folder.parent}"
            )
        try:
            self.coco: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            self.images: list[dict[str, Any]] = self.coco["images"]
            self.annotations: dict[int, list[dict[str, Any]]] = {image["id"]: [] for image in self.images}
            for annotation in self.coco["annotations"]:
                self.annotations[annotation["image_id"]].append(annotation)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path}: not a COCO annotation file ({type(error).__name__}: {error}); make the split again"
            ) from error

    def __len__(self) -> int:
        return len(self.images)

    def _picture(self, index: int) -> dict[str, Any]:
        """{"image": uint8 [H, W, 3] BGR, "image_id": int, "path": str} of one image."""
        record = self.images[index]
        path = self.folder / "images" / record["file_name"]
        image = _read(path, cv2.IMREAD_COLOR, (record["height"], record["width"]))
        return {"image": image, "image_id": int(record["id"]), "path": str(path)}


@DATASETS.register_module()
class DigitsDetection(DigitsFolder):
    """The split as a detection task; all in the original image's pixels.

    An item is {"image", "image_id", "path", "boxes": float32 [n, 4] x1 y1 x2 y2, "labels": int64 [n] the model's ids
    (digit d is d + 1), "areas": float32 [n], visible pixels}.
    """

    def __getitem__(self, index: int) -> dict[str, Any]:
        item = self._picture(index)
        annotations = self.annotations[item["image_id"]]
        boxes = np.asarray([annotation["bbox"] for annotation in annotations], np.float32).reshape(-1, 4)
        boxes[:, 2:] += boxes[:, :2]
        item["boxes"] = boxes
        item["labels"] = np.asarray([annotation["category_id"] for annotation in annotations], np.int64)
        item["areas"] = np.asarray([annotation["area"] for annotation in annotations], np.float32)
        return item


@DATASETS.register_module()
class DigitsSegmentation(DigitsFolder):
    """The split as a segmentation task.

    An item is {"image", "image_id", "path", "label_map": uint8 [H, W], 0 background, digit d is d + 1, 255 ignore}.
    """

    def __getitem__(self, index: int) -> dict[str, Any]:
        item = self._picture(index)
        path = self.folder / "label_maps" / f"{Path(item['path']).stem}.png"
        item["label_map"] = _read(path, cv2.IMREAD_GRAYSCALE, item["image"].shape[:2])
        return item


def _read(path: Path, flags: int, size: tuple[int, int]) -> NDArray[np.uint8]:
    """The pixels of a file of a known (height, width). Raises InputError."""
    pixels = cv2.imread(str(path), flags)
    if pixels is None or pixels.shape[:2] != size:
        got = "nothing that can be read" if pixels is None else f"{pixels.shape[1]}x{pixels.shape[0]}"
        raise InputError(f"{path}: got {got}, expected an image of {size[1]}x{size[0]}; make the split again")
    return np.asarray(pixels, np.uint8)
