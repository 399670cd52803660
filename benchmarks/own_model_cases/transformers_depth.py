"""Depth models of transformers, small: TransformersDepth."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from own_model_case import OwnModel
from torchvision_models import sample_images

from tests.small_transformers_segmentors import built
from zoo.tasks import build_task

MADE_OF = (
    *("zoo/models/transformers", "zoo/tasks/tensors", "rewriters/transformers"),
    "tests/small_transformers_segmentors.py",
)
TASK = {"type": "Tensors", "keep": ["depth"]}


def _case(name: str, size: tuple[int, int], second: tuple[int, int] | None) -> Callable[[], OwnModel]:
    def build() -> OwnModel:
        with tempfile.TemporaryDirectory() as folder:
            model = built(name, Path(folder), "TransformersDepth")
        return OwnModel(model, build_task(TASK), sample_images(3, size), second and sample_images(1, second))

    return build


CASES = {
    "depth_anything": _case("depth_anything", (56, 84), (70, 126)),
    "dpt": _case("dpt_depth", (64, 64), None),
}
