"""Instances of transformers' models whose queries have masks, small: TransformersInstanceSegmentor."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from own_model_case import OwnModel
from torchvision_models import sample_images

from tests.small_transformers_segmentors import CLASSES, built
from zoo.tasks import build_task

MADE_OF = (
    *("zoo/models/transformers", "zoo/tasks/instance_masks", "rewriters/transformers", "rewriters/attention"),
    "tests/small_transformers_segmentors.py",
)
SIZE, SECOND = (64, 96), (75, 101)
TASK = {"type": "InstanceMasks", "classes": [{"name": str(label)} for label in range(CLASSES)]}


def _case(name: str) -> Callable[[], OwnModel]:
    def build() -> OwnModel:
        with tempfile.TemporaryDirectory() as folder:
            model = built(name, Path(folder), "TransformersInstanceSegmentor")
        return OwnModel(model, build_task(TASK), sample_images(3, SIZE), sample_images(1, SECOND))

    return build


CASES = {name: _case(name) for name in ("maskformer", "mask2former", "oneformer")}
