"""The data set of synthetic street scenes."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from zoo.datasets.evaluation_dataset import EvaluationDataset, ImageEntry
from zoo.datasets.files.faults import Faults
from zoo.datasets.streets.objects import CLASSES
from zoo.datasets.streets.scene import StreetScene, make_scene
from zoo.datasets.streets.splits import SHIPPED, SIZES, TRAIN, ensure_split, existing_split
from zoo.datasets.streets.stored import read_scene
from zoo.errors import InputError
from zoo.kitti import IMAGE_SIZE, NOMINAL
from zoo.progress import Progress
from zoo.registry import DATASETS
from zoo.tasks import ClassInfo

NO_SIZE = (0, 0)  # of an entry that is no image
TRAIN_SCENES = 2000


@DATASETS.register_module()
class Streets(EvaluationDataset):
    """Synthetic scenes of a street, by a simulated LiDAR of 64 beams over KITTI's front 90 degrees.

    Nothing in them was measured by a sensor, and no figure on them says anything about KITTI or a real street. `split`:
    "shipped", 16 scenes in the repository; "gate", 512 scenes that are made once into the cache; "train", `count`
    scenes (2000) that are made whenever they are asked for. No scene is in two splits.

    An item has "points" float32 [n, 4], x y z in metres, x forward, y left, z up, and an intensity of 0..1; "boxes"
    float32 [m, 7] and "labels" int64 [m] of the objects with five points or more; "difficulty" int64 [m], 0 easy, 1
    moderate, 2 hard, -1 ignored, as KITTI judges them in the image of the nominal camera, whose "calibration" and
    "image_size" (height, width) it has as well.
    """

    input_kind: ClassVar[str] = "points"

    def __init__(self, split: str = SHIPPED, count: int | None = None, *, classes: Sequence[ClassInfo]) -> None:
        self.split, self.count = split, count
        if count is not None and not 1 <= count <= SIZES.get(split, count):
            most = f" to {SIZES[split]}" if split in SIZES else " or more"
            raise InputError(f"Streets: got count {count}, expected 1{most} scenes")
        names = [info.name for info in classes]
        if unknown := [name for name in CLASSES if name not in names]:
            raise InputError(
                f"Streets: the task has no class {', '.join(unknown)}; its scenes have {', '.join(CLASSES)}"
            )
        self.label_ids = [names.index(name) for name in CLASSES]
        self.scene = lru_cache(maxsize=2)(self._scene)  # an item's points and its truth are of one scene
        super().__init__(classes=classes)

    @classmethod
    def prepare(cls, section: Mapping[str, Any], progress: Progress | None = None) -> None:
        """Make the split in the cache, where it is not there."""
        if (split := section.get("split", SHIPPED)) != TRAIN:
            ensure_split(split, progress)

    @property
    def is_generated(self) -> bool:
        """The scenes to learn from are."""
        return self.split == TRAIN

    def __getstate__(self) -> dict[str, Any]:
        """Without the scenes that are held, for the workers of a loader."""
        return {name: value for name, value in self.__dict__.items() if name != "scene"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self.scene = lru_cache(maxsize=2)(self._scene)

    def _scene(self, index: int) -> StreetScene:
        entry = self.entries[index]
        return make_scene(TRAIN, entry.image_id) if self.split == TRAIN else read_scene(entry.path)

    def _index(self, faults: Faults) -> list[ImageEntry]:  # noqa: ARG002 - the files are zooport's own
        if self.split == TRAIN:
            return [ImageEntry(Path(f"train-{n:06d}.bin"), n, NO_SIZE) for n in range(self.count or TRAIN_SCENES)]
        files = sorted(existing_split(self.split).glob("*.npz"))[: self.count]
        return [ImageEntry(path, int(path.stem), NO_SIZE) for path in files]

    def _input(self, entry: ImageEntry) -> Any:
        return self.scene(entry.image_id).points

    def _truth(self, index: int) -> dict[str, Any]:
        scene = self.scene(index)
        return {
            "boxes": scene.boxes,
            "labels": np.array(self.label_ids, np.int64)[scene.labels],
            "difficulty": scene.difficulty,
            "calibration": NOMINAL,
            "image_size": IMAGE_SIZE,
        }
