"""mmdetection's models with a dynamic height and width, as `keep_ratio=True` comes to, and padded batches."""

import functools
from pathlib import Path

import pytest
import torch

from rewriters import export_onnx
from tests.rewriters.mmdetection.exported import AXES, DYNAMIC, SIZES, Exported, check
from tests.rewriters.small_models import run
from tests.small_mmdet import byte_images, resized, small
from zoo.errors import ExportError
from zoo.target import Target
from zoo.tensor_spec import TensorSpec

pytestmark = [pytest.mark.openmmlab, pytest.mark.filterwarnings("ignore")]
pytest.importorskip("mmdet", reason="the models of these tests are mmdetection's (extra mmdet)", exc_type=ImportError)

BY_BOTH = ("retinanet", "retinanet_swin", "faster_rcnn", "detr", "deformable_detr", "dino", "solov2", "mask2former")
DETECTORS = ("fcos", "atss", "gfl", "ssd", "yolov3", "yolox", "rtmdet", "cascade_rcnn", "mask_rcnn", "maskformer")
SLOW = pytest.mark.slow
CASES = (
    *((name, "torchscript") for name in BY_BOTH),
    *(pytest.param(name, "torchscript", marks=SLOW) for name in DETECTORS),
    *(pytest.param(name, "dynamo", marks=SLOW) for name in BY_BOTH if name != "retinanet_swin"),
)
PADDED = (
    *((name, "torchscript") for name in ("retinanet", "faster_rcnn", "detr", "deformable_detr", "dino")),
    *(pytest.param(name, "torchscript", marks=SLOW) for name in ("fcos", "atss", "gfl", "ssd", "rtmdet", "mask_rcnn")),
    *(pytest.param(name, "dynamo", marks=SLOW) for name in ("retinanet", "detr", "deformable_detr", "dino")),
)
TAKEN = ((64, 96), (128, 96))
SEEDS = {"rtmdet": 1}  # padding makes its scores 1 with others
detector = functools.cache(small)


@pytest.mark.parametrize(("name", "exporter"), CASES)
def test_the_graph_takes_other_sizes(name: str, exporter: str, tmp_path: Path) -> None:
    model = detector(name, sizes=TAKEN)
    exported = Exported.of(name, model, Target(DYNAMIC, exporter=exporter), tmp_path / "model.onnx")
    for size in TAKEN:
        check(exported.compared(resized(byte_images(3), size)))


def test_a_swin_transformer_takes_other_sizes_by_torchscript_alone(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="SwinTransformer by dynamo needs a fixed height and width.*torchscript"):
        Exported.of(
            "retinanet_swin", detector("retinanet_swin"), Target(DYNAMIC, exporter="dynamo"), tmp_path / "model.onnx"
        )


def test_a_swin_transformer_pads_what_does_not_fill_a_patch(tmp_path: Path) -> None:
    backbone = detector("retinanet_swin").model.backbone
    specs = [
        TensorSpec(f"level{level}", "float32", ("batch", 2**level * 16, f"h{level}", f"w{level}")) for level in range(3)
    ]
    target = Target(DYNAMIC, exporter="torchscript")
    path = tmp_path / "model.onnx"
    export_onnx(backbone, target, path, example={"images": byte_images(2) / 255}, output_specs=specs, other_sizes=False)
    images = resized(byte_images(2), (130, 97)) / 255
    with torch.no_grad():
        expected = backbone(images)
    for ours, theirs in zip(run(path, images), expected, strict=True):
        torch.testing.assert_close(torch.from_numpy(ours), theirs, atol=1e-5, rtol=0)


@pytest.mark.parametrize(("name", "exporter"), PADDED)
def test_the_graph_takes_images_that_end_before_their_batch(name: str, exporter: str, tmp_path: Path) -> None:
    target = Target(AXES, exporter=exporter, image_sizes=True)
    model = detector(name, seed=SEEDS.get(name, 0))
    exported = Exported.of(name, model, target, tmp_path / "model.onnx")
    check(exported.compared(byte_images(3), SIZES))
    check(exported.compared(byte_images(1, 3), [(64, 96)]))
