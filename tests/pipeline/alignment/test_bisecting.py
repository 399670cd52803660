"""Engines of pieces find the same module; ONNX Runtime stands for an engine that fuses."""

from pathlib import Path

import onnx
import pytest
import torch
from torch import Tensor, nn

from backends.runner import Runner
from pipeline.alignment.bisecting import bisect
from pipeline.alignment.comparing import Comparison
from pipeline.alignment.records import Alignment
from pipeline.graphs.graph_runs import default_opener
from rewriters.onnx_graph.module_paths import module_path
from tests.pipeline.alignment.planted import THRESHOLD, compared, nodes_of, perturb, sound, unseen
from tests.rewriters.small_models import export, fixed_target
from zoo.tasks.contract import Contract
from zoo.tensor_spec import TensorSpec


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


def test_a_fault_of_two_branches_that_are_built_together_is_found() -> None:
    model = sound("whole", "torchscript")
    first, second = "backbone.layer3.0.downsample.0", "backbone.layer3.0.conv2"
    names = {node.name for module in (first, second) for node in nodes_of(model, module, "Conv")}

    def faulty(path: Path) -> Runner:
        piece = onnx.load(path)
        if names <= {node.name for node in piece.graph.node}:
            perturb(piece, first)
        path.write_bytes(piece.SerializeToString())
        return default_opener(path)

    found = Alignment(tuple(bisect(compared("whole", model), faulty, unseen)), THRESHOLD, (), by_pieces=True)
    assert not found.passed
    assert found.first is not None
    assert found.first.modules[:1] == (first,)
    assert found.first.note == "its piece does not differ alone; its fusion with what is before it does"


class Cell(nn.Module):
    """Gives its two results in another order than it computes them."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.gates = nn.Conv2d(3, 6, 3, padding=1)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        gate, value = self.gates(images).chunk(2, 1)
        cell = gate.sigmoid() * value.tanh()
        return cell.tanh() * 3, cell


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = Cell()
        self.last = nn.Conv2d(3, 2, 1)

    def forward(self, images: Tensor) -> Tensor:
        hidden, cell = self.cell(images)
        return self.last(hidden - cell)


class RecurrentContract(Contract):
    def forward(self, images: Tensor) -> tuple[Tensor]:
        return (self.model(images),)


@pytest.mark.parametrize("memory", [1, 64 << 20])
def test_results_in_another_order_than_they_are_computed_in_are_no_difference(tmp_path: Path, memory: int) -> None:
    module = RecurrentContract(Recurrent().eval(), {})
    specs = [TensorSpec("map", "float32", ("batch", 2, 16, 16))]
    export(module, fixed_target(16, 16, exporter="torchscript"), tmp_path / "model.onnx", specs)
    images = torch.rand(1, 3, 16, 16, generator=torch.Generator().manual_seed(0)).numpy()
    comparison = Comparison(
        module, onnx.load(tmp_path / "model.onnx"), {"images": images}, {}, threshold=THRESHOLD, memory=memory
    )
    comparison.compare(unseen)
    assert {pair.verdict for pair in comparison.pairs} == {"equal"}

    def faulty(path: Path) -> Runner:
        piece = onnx.load(path)
        if any(module_path(node) == "last" for node in piece.graph.node):
            perturb(piece, "last")
        path.write_bytes(piece.SerializeToString())
        return default_opener(path)

    found = Alignment(tuple(bisect(comparison, faulty, unseen)), THRESHOLD, (), by_pieces=True)
    assert found.first is not None
    assert found.first.modules == ("last",)
