"""mmdetection's models with a dynamic height and width, as `keep_ratio=True` comes to, and padded batches."""

import functools
from pathlib import Path

import pytest

from tests.rewriters.mmdetection.exported import AXES, DYNAMIC, SIZES, Exported, check
from tests.small_mmdet import byte_images, resized, small
from zoo.target import Target

pytestmark = [pytest.mark.openmmlab, pytest.mark.filterwarnings("ignore")]
pytest.importorskip("mmdet", reason="the models of these tests are mmdetection's (extra mmdet)", exc_type=ImportError)

BY_BOTH = ("retinanet", "retinanet_swin", "faster_rcnn", "detr", "deformable_detr", "dino", "solov2", "mask2former")
DETECTORS = ("fcos", "atss", "gfl", "ssd", "yolov3", "yolox", "rtmdet", "cascade_rcnn", "mask_rcnn", "maskformer")
SLOW = pytest.mark.slow
CASES = (
    *((name, "torchscript") for name in BY_BOTH),
    *(pytest.param(name, "torchscript", marks=SLOW) for name in DETECTORS),
    *(pytest.param(name, "dynamo", marks=SLOW) for name in BY_BOTH),
)
PADDED = (
    *((name, "torchscript") for name in ("retinanet", "faster_rcnn", "detr", "deformable_detr", "dino")),
    *(pytest.param(name, "torchscript", marks=SLOW) for name in ("fcos", "atss", "gfl", "ssd", "rtmdet", "mask_rcnn")),
    *(pytest.param(name, "dynamo", marks=SLOW) for name in ("retinanet", "detr", "deformable_detr", "dino")),
)
TAKEN = ((64, 96), (128, 96))
detector = functools.cache(small)


@pytest.mark.parametrize(("name", "exporter"), CASES)
def test_the_graph_takes_other_sizes(name: str, exporter: str, tmp_path: Path) -> None:
    model = detector(name, sizes=TAKEN)
    exported = Exported.of(name, model, Target(DYNAMIC, exporter=exporter), tmp_path / "model.onnx")
    for size in TAKEN:
        check(exported.compared(resized(byte_images(3), size)))


@pytest.mark.parametrize(("name", "exporter"), PADDED)
def test_the_graph_takes_images_that_end_before_their_batch(name: str, exporter: str, tmp_path: Path) -> None:
    target = Target(AXES, exporter=exporter, image_sizes=True)
    exported = Exported.of(name, detector(name), target, tmp_path / "model.onnx")
    check(exported.compared(byte_images(3), SIZES))
    check(exported.compared(byte_images(1, 3), [(64, 96)]))
