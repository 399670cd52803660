"""Query detectors of transformers, small: TransformersDetector."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from own_model_case import OwnModel
from torchvision_models import sample_images

from tests.small_query_detectors import CLASSES, SETTINGS, save
from zoo.checkpoint import load_checkpoint
from zoo.tasks import build_task

MADE_OF = (
    *("zoo/models/transformers", "zoo/tasks/detection", "rewriters/transformers", "rewriters/attention"),
    "tests/small_query_detectors.py",
)
SIZE, SECOND = (64, 96), (128, 160)
TASK = {"type": "Detection", "classes": [{"name": str(label), "category_id": label} for label in range(CLASSES)]}


def _case(name: str) -> Callable[[], OwnModel]:
    def build() -> OwnModel:
        from zoo.models.transformers.query_detectors import TransformersDetector

        with tempfile.TemporaryDirectory() as folder:
            save(name, Path(folder))
            model = TransformersDetector(folder)
            load_checkpoint(model, Path(folder) / "model.safetensors")
        images = sample_images(3, SIZE), sample_images(1, SECOND)
        return OwnModel(model.eval(), build_task(TASK), *images, plain_level="raw")

    return build


CASES = {name: _case(name) for name in SETTINGS}
