"""Engines of pieces find the same module; ONNX Runtime stands for an engine that fuses."""

from pathlib import Path

import onnx
import pytest

from backends.runner import Runner
from pipeline.alignment.bisecting import bisect
from pipeline.alignment.records import Alignment
from pipeline.graphs.graph_runs import default_opener
from tests.pipeline.alignment.planted import THRESHOLD, compared, nodes_of, perturb, sound, unseen


def bisected(family: str, model: onnx.ModelProto, **faults: str) -> tuple[Alignment, int]:
    """Of a backend that is at fault where the graph is not; also how many engines were built."""
    built = []

    def faulty(path: Path) -> Runner:
        built.append(path)
        piece = onnx.load(path)
        for module, op_type in faults.items():
            if any(node.name == module for node in piece.graph.node):
                perturb(piece, op_type)
        path.write_bytes(piece.SerializeToString())
        return default_opener(path)

    pairs = bisect(compared(family, model), faulty, unseen)
    return Alignment(tuple(pairs), THRESHOLD, (), by_pieces=True), len(built)


@pytest.mark.parametrize(
    ("family", "module", "name"),
    [
        ("whole", "backbone.layer3.0.conv2", "backbone.layer3.0.conv2 + backbone.layer3.0.bn2"),
        pytest.param(
            "faster_rcnn", "backbone.fpn.inner_blocks.1.0", "backbone.fpn.inner_blocks.1.0", marks=pytest.mark.slow
        ),
    ],
)
def test_an_engine_at_fault_in_one_module_is_found_in_few_builds(family: str, module: str, name: str) -> None:
    model = sound(family, "torchscript")
    (node,) = (node.name for node in nodes_of(model, module, "Conv"))
    found, builds = bisected(family, model, **{node: module})
    assert found.first is not None
    assert found.first.name == name
    assert found.is_culprit(found.first)
    assert found.first.note == "its piece also differs alone"
    assert builds <= 10


def test_an_engine_without_a_fault_takes_one_build() -> None:
    found, builds = bisected("whole", sound("whole", "torchscript"))
    assert found.passed
    assert found.pairs
    assert builds == 1
