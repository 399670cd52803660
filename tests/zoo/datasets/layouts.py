"""Small folders of each layout, with real JPEG and PNG files."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from PIL import Image

from zoo.tasks import ClassInfo

ANIMALS = (ClassInfo("background", None), ClassInfo("cat", 17), ClassInfo("dog", 18))


def write_image(path: Path, size: tuple[int, int], seed: int = 0) -> Path:
    """A JPEG or PNG of (height, width), each seed another one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    blocks = np.random.default_rng(seed).integers(0, 255, (4, 5, 3)).astype(np.uint8)
    assert cv2.imwrite(str(path), cv2.resize(blocks, size[::-1]))
    return path


def write_label_map(path: Path, values: Any, *, palette: bool = False) -> Path:
    """A PNG of uint8 [h, w] as grey levels or, in colours that say nothing of the values, as palette indices."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(np.asarray(values, np.uint8))
    if palette:
        image.putpalette(np.random.default_rng(1).integers(0, 255, 768).astype(np.uint8).tobytes())
        assert image.mode == "P"
    image.save(path)
    return path


def image_record(image_id: int, size: tuple[int, int], **more: Any) -> dict[str, Any]:
    return {"id": image_id, "file_name": f"{image_id}.jpg", "height": size[0], "width": size[1], **more}


def annotation(
    annotation_id: int, image_id: int, category_id: int, bbox: Sequence[float], **more: Any
) -> dict[str, Any]:
    return {"id": annotation_id, "image_id": image_id, "category_id": category_id, "bbox": list(bbox), **more}


def coco_content() -> dict[str, Any]:
    """Two cats and a dog on 30x40 (height, width), nothing on 25x50; ids in no order, one category that is not used."""
    runs = {"size": [30, 40], "counts": [600, 90, 510]}
    square = [2, 3, 12, 3, 12, 23, 2, 23]
    return {
        "info": {"year": 2024},
        "images": [image_record(42, (30, 40)), image_record(7, (25, 50))],
        "annotations": [
            annotation(5, 42, 17, [2, 3, 10, 20], area=200.0, iscrowd=0, segmentation=[square]),
            annotation(3, 42, 18, [0.5, 0.25, 4, 8], segmentation=[[0, 0, 4, 0, 4, 8]]),
            annotation(9, 42, 17, [20, 5, 20, 25], area=90, iscrowd=1, segmentation=runs),
        ],
        "categories": [{"id": 18, "name": "dog"}, {"id": 17, "name": "cat"}, {"id": 19, "name": "horse"}],
    }  # fmt: skip


def write_coco(root: Path, content: Mapping[str, Any], *, indent: int | None = None) -> dict[str, Path]:
    """The arguments of a COCO data set; images are written for the records that have a whole size."""
    (root / "images").mkdir(parents=True, exist_ok=True)
    for record in content["images"]:
        if not (root / "images" / record["file_name"]).exists():
            write_image(root / "images" / record["file_name"], (record["height"], record["width"]), record["id"])
    (root / "instances.json").write_text(json.dumps(content, indent=indent), encoding="utf-8")
    return {"images": root / "images", "annotations": root / "instances.json"}


def voc_object(name: str, box: Sequence[object], difficult: object = 0) -> str:
    xmin, ymin, xmax, ymax = box
    return f"""
    <object>
        <name>{name}</name>
        <difficult>{difficult}</difficult>
        <bndbox>
            <xmin>{xmin}</xmin><ymin>{ymin}</ymin><xmax>{xmax}</xmax><ymax>{ymax}</ymax>
        </bndbox>
        <part><name>head</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></part>
    </object>"""


def write_voc(root: Path, objects: Mapping[str, Sequence[str]], size: tuple[int, int] = (30, 40)) -> Path:
    """VOC detection: the images named by the keys, all of one (height, width), as split "val"."""
    for number, (name, found) in enumerate(objects.items()):
        write_image(root / "JPEGImages" / f"{name}.jpg", size, number)
        extent = f"<size><width>{size[1]}</width><height>{size[0]}</height><depth>3</depth></size>"
        (root / "Annotations").mkdir(exist_ok=True)
        text = f"<annotation>\n    <filename>{name}.jpg</filename>\n    {extent}{''.join(found)}\n</annotation>\n"
        (root / "Annotations" / f"{name}.xml").write_text(text, encoding="utf-8")
    write_list(root / "ImageSets" / "Main" / "val.txt", objects)
    return root


def write_list(path: Path, names: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    return path
