"""int8 graphs for tensorrt-rtx: its parser takes every pair, and an engine is built on the CPU."""

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from rewriters.precision import to_int8
from tests.rewriters.precision.small_nets import conv_net, pictures
from tests.rewriters.small_dense_models import SLOTS, dense_contract, small_detector
from tests.rewriters.small_models import detection_specs, export, fixed_target
from zoo.precision_options import PrecisionOptions

BUILD = Path(__file__).parents[1] / "tensorrt" / "build_engine.py"
TIMEOUT = 120  # seconds
SIZE = (64, 96)


def small_net(_: Path) -> onnx.ModelProto:
    return conv_net(0)


def segmentor(path: Path) -> onnx.ModelProto:
    """Named by the family, without the whole contract: an FCN of torchvision's classes."""
    from tests.rewriters.small_segmentors import calibrated, small_fcn
    from zoo.contract import contract_module
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


@pytest.mark.tensorrt
@pytest.mark.parametrize("make", [small_net, segmentor, retina_net])
def test_an_engine_is_built(make: Callable[[Path], onnx.ModelProto], tmp_path: Path) -> None:
    if importlib.util.find_spec("tensorrt_rtx") is None:
        pytest.skip("tensorrt_rtx is not installed: pip install tensorrt-rtx")
    model = make(tmp_path / "model.onnx")
    chance = np.random.default_rng(0)
    feeds = pictures(0) if make is small_net else [{"images": chance.random((1, 3, *SIZE), np.float32)}]
    made, report = to_int8(model, PrecisionOptions(), feeds)
    assert report.nodes["int8"] > 3
    onnx.save(made, tmp_path / "int8.onnx")
    command = [sys.executable, str(BUILD), str(tmp_path / "int8.onnx"), "1", "2", "4"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
