"""Writing a split of the digits to a folder. Needs scikit-learn and scikit-image ([train]) for the scenes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from pycocotools import mask as coco_mask

from zoo.datasets.digits.scene import SEED, VERSION, Scene, make_scene
from zoo.datasets.files.image_writing import write_image

SPLIT_SIZES = {"train": 2000, "val": 64, "gate": 512}  # images; training itself makes its scenes on the fly
JPEG_QUALITY = 75
PNG_COMPRESSION = 9


def write_split(split: str, folder: Path, count: int) -> Iterator[int]:
    """Writes images 0 to count - 1 of a split into `folder` and yields each number when it is on the disk.

    The annotation file comes last, so a folder with one is complete. The same library versions give the same bytes.
    Raises OSError where that cannot be written, and where there are images already: it makes no mixtures.
    """
    for name in ("images", "label_maps"):
        (folder / name).mkdir(parents=True)
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for index in range(count):
        scene = make_scene(split, index)
        stem = f"{index:06d}"
        write_image(folder / "images" / f"{stem}.jpg", scene.image, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
        label_map = folder / "label_maps" / f"{stem}.png"
        write_image(label_map, scene.label_map, [cv2.IMWRITE_PNG_COMPRESSION, PNG_COMPRESSION])
        images.append(image_record(scene, index))
        annotations.extend(annotation_records(scene, index, len(annotations) + 1))
        yield index
    document = {
        "info": {"description": f"zooport digits, split {split}, seed {SEED}", "version": VERSION},
        "licenses": [{"id": 1, "name": "see README.md of the digits", "url": ""}],
        "categories": [{"id": digit + 1, "name": str(digit), "supercategory": "digit"} for digit in range(10)],
        "images": images,
        "annotations": annotations,
    }
    (folder / "annotations.json").write_text(json.dumps(document, sort_keys=True, indent=0) + "\n", encoding="utf-8")


def image_record(scene: Scene, index: int) -> dict[str, Any]:
    """The COCO image record; `photograph` is an extra field: what lies behind the digits."""
    height, width = scene.label_map.shape
    return {
        "id": index,
        "file_name": f"{index:06d}.jpg",
        "width": width,
        "height": height,
        "license": 1,
        "photograph": scene.photograph,
    }


def annotation_records(scene: Scene, index: int, first_id: int) -> list[dict[str, Any]]:
    """The COCO annotations of one image, ids from `first_id`; bbox is x y w h, segmentation a compressed RLE."""
    records = []
    for number, (mask, box, label) in enumerate(zip(scene.masks, scene.boxes, scene.labels, strict=True)):
        x1, y1, x2, y2 = (int(edge) for edge in box)
        records.append(
            {
                "id": first_id + number,
                "image_id": index,
                "category_id": int(label),
                "bbox": [x1, y1, x2 - x1, y2 - y1],
                "area": int(mask.sum()),
                "iscrowd": 0,
                "segmentation": encode_mask(mask),
            }
        )
    return records


def encode_mask(mask: NDArray[np.bool_]) -> dict[str, Any]:
    """A mask bool [H, W] as COCO's compressed run lengths, ready for JSON."""
    run_lengths = coco_mask.encode(np.asfortranarray(mask, dtype=np.uint8))
    return {"size": [int(side) for side in run_lengths["size"]], "counts": run_lengths["counts"].decode("ascii")}
