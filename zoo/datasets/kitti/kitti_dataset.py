"""The loader of KITTI's layout."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from zoo.datasets.class_labels import labels_by_name
from zoo.datasets.evaluation_dataset import EvaluationDataset, ImageEntry
from zoo.datasets.files.faults import Faults
from zoo.datasets.files.text_file import read_text
from zoo.errors import InputError
from zoo.image_header import image_size
from zoo.input_kinds import input_kind
from zoo.kitti import IMAGE_SIZE, Calibration, KittiObject, difficulties, points_frame_boxes, read_label
from zoo.kitti.difficulty import IGNORED
from zoo.registry import DATASETS
from zoo.tasks import ClassInfo

NEIGHBOURS = {"pedestrian": "person_sitting", "car": "van"}
"""Of a class the one that its evaluation neither rewards nor punishes, as KITTI's development kit has it."""
NO_SIZE = (0, 0)  # of an entry that is no image
HEADER = 64 * 1024  # bytes that have an image's size


class Frame(NamedTuple):
    """The objects of one cloud, those of other types too, its calibration, and (height, width) of its image.

    `name`: of its files, such as 000001.
    """

    name: str
    objects: tuple[KittiObject, ...]
    calibration: Calibration
    image_size: tuple[int, int]


@DATASETS.register_module()
class KittiDataset(EvaluationDataset):
    """The frames that ImageSets/SPLIT.txt lists, of a folder as KITTI's archives unpack:

        ROOT/ImageSets/val.txt              000001
        ROOT/training/velodyne/000001.bin   float32 x y z intensity, 0..1
        ROOT/training/label_2/000001.txt    objects in the camera's frame
        ROOT/training/calib/000001.txt
        ROOT/training/image_2/000001.png    optional; its size alone is read

    The list may also be directly in ROOT. Types of objects are the names of the task's classes, in any case and
    with underscores for blanks; types that are no class are left out. A van is ignored where there are cars, and a
    sitting person where there are pedestrians.

    An item is as of Streets: "points", "boxes" float32 [m, 7] in the frame of the points, "labels", "difficulty",
    "calibration", "image_size"; and "difficult" bool [m]: neighbouring types, which nothing learns.
    """

    input_kind: ClassVar[str] = "points"

    def __init__(
        self, root: str | Path, split: str = "val", *, folder: str = "training", classes: Sequence[ClassInfo]
    ) -> None:
        self.root, self.split, self.folder = Path(root), split, folder
        labels_by_name([ClassInfo(info.name.lower(), None) for info in classes])
        self.frames: list[Frame] = []
        super().__init__(classes=classes)

    def _input(self, entry: ImageEntry) -> Any:
        return input_kind(self.input_kind).read(entry.path)

    def _index(self, faults: Faults) -> list[ImageEntry]:
        entries = []
        for name in self._names(faults):
            path = self._path("velodyne", f"{name}.bin")
            if not path.is_file():
                faults.missing(path, "file")
                continue
            before = len(faults)
            frame = self._frame(name, faults)
            if frame is not None and len(faults) == before:
                entries.append(ImageEntry(path, int(name), NO_SIZE))
                self.frames.append(frame)
        return entries

    def _names(self, faults: Faults) -> list[str]:
        lists = [place / f"{self.split}.txt" for place in (self.root / "ImageSets", self.root)]
        file = next((path for path in lists if path.is_file()), lists[0])
        lines: dict[str, int] = {}
        for number, line in enumerate((read_text(file, faults) or "").splitlines(), 1):
            if not (name := line.strip()):
                continue
            if not name.isdecimal():
                faults.add(file, f'got "{name}", expected the number of a frame, such as 000001', number)
            elif name in lines:
                faults.add(file, f"frame {name} is listed twice, first in line {lines[name]}; leave one out", number)
            else:
                lines[name] = number
        return list(lines)

    def _frame(self, name: str, faults: Faults) -> Frame | None:
        labels, calib = self._path("label_2", f"{name}.txt"), self._path("calib", f"{name}.txt")
        label_text, calib_text = read_text(labels, faults), read_text(calib, faults)
        if label_text is None or calib_text is None:
            return None
        objects = []
        for number, entry in read_label(label_text):
            if isinstance(entry, str):
                faults.add(labels, entry, number)
            else:
                objects.append(entry)
        try:
            calibration = Calibration.from_text(calib_text, calib)
        except InputError as error:
            faults.add(calib, str(error).removeprefix(str(calib)).lstrip(":, "))
            return None
        return Frame(name, tuple(objects), calibration, self._image_size(name, faults))

    def _image_size(self, name: str, faults: Faults) -> tuple[int, int]:
        image = self._path("image_2", f"{name}.png")
        if not image.is_file():
            return IMAGE_SIZE
        try:
            with image.open("rb") as file:
                return image_size(file.read(HEADER)) or IMAGE_SIZE
        except (OSError, ValueError) as error:
            faults.add(image, f"cannot be read ({error})")
            return IMAGE_SIZE

    def _path(self, kind: str, file: str) -> Path:
        return self.root / self.folder / kind / file

    def _truth(self, index: int) -> dict[str, Any]:
        frame = self.frames[index]
        names = ["_".join(info.name.lower().split()) for info in self.classes]
        own = {name: label for label, name in enumerate(names)}
        near = {NEIGHBOURS[name]: label for label, name in enumerate(names) if name in NEIGHBOURS}
        known = [entry for entry in frame.objects if entry.type.lower() in own | near]
        types = [entry.type.lower() for entry in known]
        neighbour = np.array([kind not in own for kind in types], bool)
        levels = difficulties(
            [entry.box[3] - entry.box[1] for entry in known],
            [entry.occlusion for entry in known],
            [entry.truncation for entry in known],
        )
        return {
            "boxes": points_frame_boxes(known, frame.calibration),
            "labels": np.array([(near | own)[kind] for kind in types], np.int64),
            "difficulty": np.where(neighbour, IGNORED, levels),
            "difficult": neighbour,
            "calibration": frame.calibration,
            "image_size": frame.image_size,
        }
