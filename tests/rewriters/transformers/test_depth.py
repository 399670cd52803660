"""Depth Anything and DPT by both exporters: another batch, other sizes, OpenVINO, and an engine."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pipeline.parity.gates import GRAPH
from tests.rewriters.segmentor_graphs import opened
from tests.rewriters.small_models import export, fixed_target, without_rewriter
from tests.rewriters.small_segmentors import sample_images
from tests.rewriters.tensorrt.rtx_engine import needs_rtx, rtx_engine
from tests.small_transformers_segmentors import built
from zoo.errors import ExportError
from zoo.families import contract_module
from zoo.target import AxisRange, Target
from zoo.tasks import build_task
from zoo.tensor_spec import TensorSpec

pytest.importorskip("transformers", reason="needs the extra transformers")
pytestmark = pytest.mark.libraries

TASK = build_task({"type": "Tensors", "keep": ["depth"]})
HEAD = "transformers.DepthAnythingDepthEstimationHead.forward"
FUSION = "transformers.DPTFeatureFusionLayer.forward"
EXPORTERS = ("torchscript", pytest.param("dynamo", marks=pytest.mark.slow))


def dynamic_target(exporter: str = "torchscript") -> Target:
    target = fixed_target(56, 84, exporter=exporter)
    return target.with_(height=AxisRange(56, 56, 280), width=AxisRange(56, 84, 280))


def export_depth(model: Any, target: Target, path: Path) -> list[str]:
    sides = ("height", "width") if target.axes["height"].dynamic else tuple(target.preferred.values())
    spec = TensorSpec("depth", "float32", ("batch", *sides))
    record = export(contract_module(model, TASK, "final", {}), target, path, [spec], other_sizes=False)
    return [fired.name for fired in record.rewriters]


def assert_depth(model: Any, path: Path, cases: Sequence[tuple[int, tuple[int, int]]]) -> None:
    for backend in ("onnxruntime", "openvino"):
        with opened(path, backend) as runner:
            for count, size in cases:
                images = sample_images(count, *size, seed=sum(size))
                with torch.no_grad():
                    expected = model(images)["depth"].numpy()
                actual = runner.run({"images": images.numpy()})["depth"]
                assert actual.shape == expected.shape == (count, *size)
                assert np.abs(actual - expected).max() <= GRAPH["logits"] * np.ptp(expected)


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_depth_anything_at_every_batch_and_size(exporter: str, tmp_path: Path) -> None:
    model, path = built("depth_anything", tmp_path, "TransformersDepth"), tmp_path / "m.onnx"
    assert HEAD in export_depth(model, dynamic_target(exporter), path)
    assert_depth(model, path, [(1, (56, 84)), (3, (56, 84)), (2, (112, 56)), (1, (70, 126))])


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_a_dpt_on_dinov2_at_every_batch_and_size(exporter: str, tmp_path: Path) -> None:
    """Where the patches are odd in number, the neck's maps are of other sizes than those that it enlarges."""
    model, path = built("dpt_dinov2", tmp_path, "TransformersDepth"), tmp_path / "m.onnx"
    assert FUSION in export_depth(model, dynamic_target(exporter), path)
    assert_depth(model, path, [(1, (56, 84)), (3, (56, 84)), (2, (112, 56)), (1, (70, 126)), (1, (98, 70))])


def test_needed_without_it_the_neck_takes_even_numbers_of_patches_alone(tmp_path: Path) -> None:
    model, path = built("dpt_dinov2", tmp_path, "TransformersDepth"), tmp_path / "m.onnx"
    import_module("rewriters.transformers")  # which an export would import, too late
    with without_rewriter(FUSION):
        export_depth(model, dynamic_target(), path)
    with opened(path, "onnxruntime") as runner, pytest.raises(ExportError, match="stopped at inputs"):
        runner.run({"images": sample_images(1, 70, 126).numpy()})


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_a_dpt_at_its_size(exporter: str, tmp_path: Path) -> None:
    model, path = built("dpt_depth", tmp_path, "TransformersDepth"), tmp_path / "m.onnx"
    export_depth(model, fixed_target(64, 64, exporter=exporter), path)
    assert_depth(model, path, [(1, (64, 64)), (3, (64, 64))])


def test_needed_without_it_the_size_is_frozen_without_an_error(tmp_path: Path) -> None:
    model, path = built("depth_anything", tmp_path, "TransformersDepth"), tmp_path / "m.onnx"
    frozen = TensorSpec("depth", "float32", ("batch", 56, 84))
    import_module("rewriters.transformers")  # which an export would import, too late
    with without_rewriter(HEAD):
        module = contract_module(model.model, build_task({"type": "Tensors", "keep": ["predicted_depth"]}), "final", {})
        export(module, dynamic_target(), path, [frozen], other_sizes=False)
    with opened(path, "onnxruntime") as runner:
        (depth,) = runner.run({"images": sample_images(1, 112, 56).numpy()}).values()
    assert depth.shape == (1, 56, 84)


@pytest.mark.tensorrt
@needs_rtx
@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), [("depth_anything", (56, 84)), ("dpt_depth", (64, 64))])
def test_tensorrt_rtx_takes_the_file(name: str, size: tuple[int, int], tmp_path: Path) -> None:
    model, path = built(name, tmp_path, "TransformersDepth"), tmp_path / "m.onnx"
    export_depth(model, fixed_target(*size, backend="tensorrt-rtx"), path)
    assert rtx_engine(path, 1, 2, 3).layers
