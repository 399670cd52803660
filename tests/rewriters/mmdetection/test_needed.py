"""Rule 6: what fails, or is wrong, without a rewriter. Seen with torch 2.15 and mmdet 3.3.0."""

import functools
from pathlib import Path
from typing import Any

import pytest

from rewriters import export_onnx
from tests.rewriters.mmdetection.exported import AXES, DYNAMIC, task_of
from tests.rewriters.small_models import without_rewriter
from tests.small_mmdet import byte_images, small
from zoo.errors import ExportError
from zoo.families import contract_module
from zoo.target import Target

pytestmark = [pytest.mark.openmmlab, pytest.mark.filterwarnings("ignore")]
pytest.importorskip("mmdet", reason="the models of these tests are mmdetection's (extra mmdet)", exc_type=ImportError)

BATCH = "the graph is wrong at batch 1"
CASES = (
    ("ShiftWindowMSA.forward", "retinanet_swin", AXES, "torchscript", BATCH),
    ("DETR.pre_transformer", "detr", DYNAMIC, "torchscript", "Boolean value of Tensor with more than one value"),
    (
        "CenterNetHead.predict_by_feat",
        "centernet",
        AXES,
        "torchscript",
        "CenterNetHead overrides BaseDenseHead.predict",
    ),
    ("SOLOV2Head.predict_by_feat", "solov2", AXES, "torchscript", "SOLOV2Head overrides SOLOHead.predict_by_feat"),
    ("MaskFormerHead.forward", "maskformer", AXES, "torchscript", "list index out of range"),
    pytest.param("DINO.forward_decoder", "dino", AXES, "dynamo", "batch", marks=pytest.mark.slow),
    pytest.param(
        *("DeformableDETR.pre_transformer", "deformable_detr", AXES, "dynamo", "its data is not allocated yet"),
        marks=pytest.mark.slow,
    ),
    pytest.param(
        *("MSDeformAttnPixelDecoder.forward", "mask2former", AXES, "dynamo", "its data is not allocated yet"),
        marks=pytest.mark.slow,
    ),
)
detector = functools.cache(small)


@pytest.mark.parametrize(("rewriter", "name", "axes", "exporter", "words"), CASES)
def test_needed(rewriter: str, name: str, axes: Any, exporter: str, words: str, tmp_path: Path) -> None:
    from rewriters import mmdetection  # noqa: F401 - declares them

    contract = contract_module(detector(name), task_of(name), "final", {})
    specs = contract.outputs(task_of(name), "final")
    example = {"images": byte_images(2) / 255}
    with without_rewriter(f"mmdet.{rewriter}"), pytest.raises(ExportError, match=words):
        export_onnx(contract, Target(axes, exporter=exporter), tmp_path / "m.onnx", example=example, output_specs=specs)
