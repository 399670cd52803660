"""The preprocessing gives a graph the input that says where the images of a padded batch end."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from backends import Runner
from backends.model import Model
from zoo.preprocess import Preprocess
from zoo.target import AxisRange
from zoo.tasks import build_task
from zoo.tensor_spec import TensorSpec

IMAGES = TensorSpec("images", "float32", ("N", 3, 64, 96))
SIZES = TensorSpec("image_sizes", "int64", ("N", 2))
TASK = build_task({"type": "Detection", "classes": [{"name": "x", "category_id": 0}]})


class Ends(Runner):
    """One box for each image: as large as image_sizes says that the image is."""

    def _run(self, arrays: Mapping[str, Any]) -> Sequence[Any]:
        self.seen = [*getattr(self, "seen", []), arrays["image_sizes"].tolist()]
        count = len(arrays["images"])
        ends = arrays["image_sizes"][:, ::-1]
        boxes = np.concatenate([np.zeros((count, 2)), ends], axis=1)[:, None].astype(np.float32)
        return [np.ones(count, np.int64), boxes, np.ones((count, 1), np.float32), np.zeros((count, 1), np.int64)]

    def _release(self) -> None: ...


def test_each_image_ends_where_its_padding_begins() -> None:
    outputs = [spec._replace(shape=("N", *spec.shape[1:])) for spec in TASK.outputs("final")]
    runner = Ends([IMAGES, SIZES], outputs, {"N": AxisRange(3, 3, 4)})
    model = Model("m", TASK, Preprocess((64, 96)), runner)
    wide, tall = np.zeros((50, 200, 3), np.uint8), np.zeros((128, 64, 3), np.uint8)
    first, second, third = model([wide, tall, tall[:64, :32]])
    assert runner.seen[0] == [[24, 96]] * 3, "a slot to spare repeats the last"
    assert runner.seen[1] == [[64, 32]] * 3, "images that end elsewhere would see each other's size"
    assert first.boxes.tolist() == [[0, 0, 200, 50]]
    assert second.boxes.tolist() == [[0, 0, 64, 128]]
    assert third.boxes.tolist() == [[0, 0, 32, 64]]
