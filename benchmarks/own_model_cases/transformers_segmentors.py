"""Segmentors of transformers, small: TransformersSegmentor."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from own_model_case import OwnModel
from torchvision_models import sample_images

from tests.small_transformers_segmentors import CLASSES, built
from zoo.tasks import build_task

MADE_OF = (
    *("zoo/models/transformers", "zoo/tasks/semantic_segmentation", "rewriters/transformers", "rewriters/attention"),
    "tests/small_transformers_segmentors.py",
)
SIZE, SECOND = (64, 96), (75, 101)
TASK = {"type": "SemanticSegmentation", "classes": [{"name": str(label)} for label in range(CLASSES)]}


def _case(name: str, size: tuple[int, int] = SIZE, second: tuple[int, int] | None = SECOND) -> Callable[[], OwnModel]:
    def build() -> OwnModel:
        with tempfile.TemporaryDirectory() as folder:
            model = built(name, Path(folder))
        return OwnModel(model, build_task(TASK), sample_images(3, size), second and sample_images(1, second))

    return build


CASES = {
    **{name: _case(name) for name in ("segformer", "upernet", "mobilevit", "maskformer", "mask2former", "oneformer")},
    "dpt": _case("dpt", (64, 64), None),
}
