"""Scenes of the streets as frames of KITTI's layout."""

from collections.abc import Iterator

from zoo.datasets.kitti.writing import KittiFrame
from zoo.datasets.streets.objects import CLASSES
from zoo.datasets.streets.scene import StreetScene, make_scene
from zoo.kitti import NOMINAL, objects_of_boxes


def frames(split: str, count: int) -> Iterator[KittiFrame]:
    """Of scenes 0 to count - 1 of a split."""
    return (frame_of(make_scene(split, index), index) for index in range(count))


def frame_of(scene: StreetScene, number: int) -> KittiFrame:
    """One scene, in the frame of the nominal camera."""
    types = [CLASSES[label].capitalize() for label in scene.labels.tolist()]
    objects = objects_of_boxes(scene.boxes, types, NOMINAL, occlusions=scene.occlusions.tolist())
    return KittiFrame(f"{number:06d}", scene.points, tuple(objects), NOMINAL)
