"""A graph that keeps the size of the traced image: the engine stops, and the line says why."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pipeline.parity.gates import GRAPH
from pipeline.parity.graph_inputs import GraphInput
from pipeline.parity.graph_parity import graph_parity, graph_references
from tests.rewriters.segmentor_graphs import opened
from tests.rewriters.small_models import export, fixed_target
from tests.small_tasks import small_task
from zoo.comparison.decision_rule import DecisionRule
from zoo.errors import ExportError
from zoo.families import contract_module
from zoo.target import AxisRange

TASK = small_task("image-classification")


class Positions(nn.Module):
    """A classifier that adds a table, which it resizes for images of another size than its own."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table, self.head = nn.Parameter(torch.rand(1, 3, 8, 12)), nn.Linear(3, 4)

    def forward(self, images: Tensor) -> Tensor:
        size = tuple(images.shape[2:])
        own = size[0] == 8 and size[1] == 12
        table = self.table if own else F.interpolate(self.table, size, mode="bilinear", align_corners=False)
        logits: Tensor = self.head((images + table).mean(dim=(2, 3)))
        return logits


def test_the_graph_of_one_size(tmp_path: Path) -> None:
    model, path = Positions().eval(), tmp_path / "m.onnx"
    sides = {"height": AxisRange(8, 8, 16), "width": AxisRange(12, 12, 16)}
    target = fixed_target(8, 12, exporter="dynamo").with_(**sides)
    contract = contract_module(model, TASK, "final", {})
    export(contract, target, path, contract.outputs(TASK, "final"), other_sizes=False)
    inputs = [GraphInput((), {"images": torch.rand(1, 3, height, 12).numpy()}) for height in (8, 9)]
    references = graph_references(model, TASK, "final", {}, inputs)
    words = r"stops at a tensor \[1, 3, 9, 12\], which the model takes: .* kept a size .* --exporter"
    with opened(path, "onnxruntime") as runner:
        cases = graph_parity(runner, references, TASK, "final", GRAPH, DecisionRule())
        assert next(cases).findings.failures == ()
        with pytest.raises(ExportError, match=words) as caught:
            next(cases)
        assert "\n" not in str(caught.value)
        with pytest.raises(ExportError, match="^[^,]*: ONNX Runtime stopped"):  # all of one size: another cause
            next(graph_parity(runner, references[1:], TASK, "final", GRAPH, DecisionRule()))
