"""int8 graphs for tensorrt-rtx: its parser takes every pair, and an engine is built on the CPU."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from rewriters.precision import converter
from tests.rewriters.precision.small_nets import conv_net, sample_images
from tests.rewriters.small_dense_models import SLOTS, dense_contract, small_detector
from tests.rewriters.small_models import detection_specs, export, fixed_target
from tests.rewriters.tensorrt.rtx_engine import needs_rtx, rtx_engine
from zoo.precision_options import PrecisionOptions

SIZE = (64, 96)


def small_net(_: Path) -> onnx.ModelProto:
    return conv_net(0)


def segmentor(path: Path) -> onnx.ModelProto:
    """Named by the family, without the whole contract: an FCN of torchvision's classes."""
    from tests.rewriters.small_segmentors import calibrated, small_fcn
    from zoo.families import contract_module
    from zoo.tasks import build_task

    task = build_task(
        {"type": "SemanticSegmentation", "classes": [{"name": str(i), "category_id": i} for i in range(4)]}
    )
    target = fixed_target(*SIZE, exporter="torchscript", backend="tensorrt-rtx", level="decoded")
    contract = contract_module(calibrated(small_fcn()), task, "decoded", {})
    export(contract, target, path, contract.outputs(task, "decoded"))
    return onnx.load(path)


def retina_net(path: Path) -> onnx.ModelProto:
    target = fixed_target(*SIZE, exporter="torchscript", backend="tensorrt-rtx")
    export(dense_contract(small_detector("retina_net")), target, path, detection_specs(SLOTS))
    return onnx.load(path)


@needs_rtx
@pytest.mark.tensorrt
@pytest.mark.parametrize("make", [small_net, segmentor, retina_net])
def test_an_engine_is_built(make: Callable[[Path], onnx.ModelProto], tmp_path: Path) -> None:
    model = make(tmp_path / "model.onnx")
    chance = np.random.default_rng(0)
    feeds = sample_images(0) if make is small_net else [{"images": chance.random((1, 3, *SIZE), np.float32)}]
    made, report = converter("int8", "tensorrt-rtx")(model, PrecisionOptions(), feeds)
    assert report.nodes["int8"] > 3
    onnx.save(made, tmp_path / "int8.onnx")
    rtx_engine(tmp_path / "int8.onnx", 1, 2, 4)
