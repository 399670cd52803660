"""Segmentors of other libraries: calibrated, exported, and what their files give compared with PyTorch."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from torch import nn

from backends import Runner
from backends.registry import get_backend
from pipeline.parity.gates import GRAPH
from rewriters import ExportRecord
from rewriters.export_onnx import tensor_spec
from tests.openvino_kernels import skip_where_capped
from tests.rewriters.small_models import export, fixed_target
from tests.rewriters.small_segmentors import sample_images
from zoo.families import contract_module
from zoo.random_weights import learn_statistics
from zoo.target import AxisRange, Target
from zoo.tasks import build_task
from zoo.tensor_spec import TensorSpec

HEIGHT, WIDTH = 64, 96
CLASSES = 4
TASK = build_task({"type": "SemanticSegmentation", "classes": [{"name": str(label)} for label in range(CLASSES)]})


def calibrated(model: nn.Module, height: int = 2 * HEIGHT, width: int = 2 * WIDTH) -> nn.Module:
    """In eval mode, with the batch norm statistics of images of this size."""
    seeds = itertools.count()
    learn_statistics(model, lambda: model(sample_images(4, height, width, seed=next(seeds))), passes=3)
    return model


def target_of(
    sizes: str, exporter: str = "torchscript", backend: str = "onnxruntime", *, least: int = HEIGHT, most: int = 256
) -> Target:
    """`sizes`: "fixed" or "dynamic", from `least` to `most`. The batch is dynamic."""
    target = fixed_target(HEIGHT, WIDTH, exporter=exporter, backend=backend)
    if sizes == "fixed":
        return target
    return target.with_(height=AxisRange(least, least, most), width=AxisRange(least, max(least, WIDTH), most))


def export_logits(model: nn.Module, target: Target, path: Path, **options: Any) -> ExportRecord:
    """At level decoded."""
    sides = ("height", "width") if target.axes["height"].dynamic else tuple(target.preferred.values())
    spec = TensorSpec("logits", "float32", ("batch", CLASSES, *sides))
    return export(contract_module(model, TASK, "decoded", {}), target, path, [spec], **options)


def opened(path: Path, backend: str) -> Runner:
    """The runner of a file with the names of its own tensors."""
    if backend == "openvino":
        skip_where_capped()
    graph = onnx.load(path, load_external_data=False).graph
    inputs, outputs = ([tensor_spec(value) for value in values] for values in (graph.input, graph.output))
    return get_backend(backend).open_graph(path, inputs, outputs)


def assert_logits(
    model: Any, path: Path, cases: Sequence[tuple[int, tuple[int, int]]], backend: str = "onnxruntime"
) -> None:
    """Of images that the export has not seen, `cases` batches and sizes: as the unpatched model, within the gate."""
    labels: set[int] = set()
    with opened(path, backend) as runner:
        for count, (height, width) in cases:
            images = sample_images(count, height, width, seed=height + width + count)
            with torch.no_grad():
                expected = model(images).numpy()
            actual = runner.run({"images": images.numpy()})["logits"]
            assert actual.shape == expected.shape == (count, CLASSES, height, width)
            assert np.abs(actual - expected).max() <= GRAPH["logits"] * np.ptp(expected), (count, height, width)
            labels |= {*np.unique(expected.argmax(axis=1)).tolist()}
    assert len(labels) > 1  # one class everywhere would prove little


def assert_in_both(model: Any, path: Path, cases: Sequence[tuple[int, tuple[int, int]]]) -> None:
    """`assert_logits` in ONNX Runtime, then in OpenVINO."""
    for backend in ("onnxruntime", "openvino"):
        assert_logits(model, path, cases, backend)
