"""Scenes as files: 70 KB each, and the same scene when read again."""

import io
import json
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from zoo.datasets.streets.lidar import INTENSITY
from zoo.datasets.streets.scene import VERSION, StreetScene, difficulty_of, make_scene
from zoo.errors import InputError
from zoo.input_kinds.points.small_cloud import packed_cloud, unpacked_cloud
from zoo.tasks.saving import npz

SCENES = "scenes.json"
"""Written last: a folder that has it is whole."""
DESCRIPTION = "zooport streets: synthetic scenes, made by a simulated LiDAR; nothing in them was measured by a sensor"


def write_scenes(split: str, folder: Path, count: int) -> Iterator[int]:
    """Write scenes 0 to count - 1 of a split, and give each number when it is on the disk; `scenes.json` last."""
    folder.mkdir(parents=True)
    for index in range(count):
        (folder / f"{index:06d}.npz").write_bytes(scene_bytes(make_scene(split, index)))
        yield index
    facts = {"description": DESCRIPTION, "version": VERSION, "split": split, "count": count}
    (folder / SCENES).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def scene_bytes(scene: StreetScene) -> bytes:
    """The content of a scene's file: whole centimetres int16, intensities in 255 steps uint8, boxes float32."""
    packed = packed_cloud(scene.points, INTENSITY)
    return npz(
        {
            "centimetres": packed["centimetres"],
            "steps": packed["steps"],
            "boxes": scene.boxes,
            "labels": scene.labels.astype(np.uint8),
            "occlusions": scene.occlusions.astype(np.uint8),
        }
    )


def read_scene(path: Path) -> StreetScene:
    """The scene of a file. Raises InputError where it is none."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            packed = {"intensity": np.array(INTENSITY), **file}
        boxes, labels, occlusions = packed["boxes"], packed["labels"], packed["occlusions"]
        points = unpacked_cloud(packed)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path}: not a scene of the data set streets ({error}); make the split again") from error
    occlusions = occlusions.astype(np.int64)
    return StreetScene(points, boxes, labels.astype(np.int64), occlusions, difficulty_of(boxes, occlusions))
