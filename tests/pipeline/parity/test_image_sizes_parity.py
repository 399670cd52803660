"""Both comparisons of a deployment with the input image_sizes, and what they must not let pass."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from backends.pytorch.runner import PyTorchRunner
from pipeline.inputs.named_input import NamedInput
from pipeline.parity.gates import merged_gates
from pipeline.parity.graph_inputs import graph_inputs
from pipeline.parity.graph_parity import graph_parity, graph_references
from pipeline.parity.reference_result import reference_result
from tests.rewriters.small_families import contract_of, small
from tests.rewriters.small_models import fixed_target
from tests.small_tasks import small_task
from zoo.families import family_of
from zoo.preprocess import Preprocess
from zoo.tasks import build_task

TASK = build_task({"type": "Detection", "classes": [{"name": "x", "category_id": None}] * 4})
TARGET = fixed_target(64, 96, image_sizes=True)
FULL = [  # images that fill their tensors
    NamedInput(f"{i}.png", np.random.default_rng(i).integers(0, 256, (64, 96, 3)).astype(np.uint8)) for i in range(2)
]


class Changed(nn.Module):
    """An engine that does something else with the sizes that it is given."""

    def __init__(self, contract: nn.Module, change: Any) -> None:
        super().__init__()
        self.contract, self.change = contract, change
        self.eval()

    def forward(self, images: Tensor, image_sizes: Tensor) -> Any:
        return self.contract(images, self.change(image_sizes))


@pytest.mark.parametrize(
    ("change", "good"),
    [
        (lambda sizes: sizes, True),
        (lambda _: None, False),
        pytest.param(lambda sizes: sizes.flip(0), False, marks=pytest.mark.slow),
        pytest.param(lambda sizes: (sizes - 1).clamp(min=1), False, marks=pytest.mark.slow),
        pytest.param(lambda sizes: sizes.amax(dim=0, keepdim=True).expand_as(sizes), False, marks=pytest.mark.slow),
    ],
    ids=["right", "ignored", "of the other images", "a pixel short", "of the largest image"],
)
def test_the_graph_comparison_shows_what_an_engine_does_with_the_sizes(change: Any, good: bool) -> None:
    """Also where every image fills its tensor."""
    model = small("faster_rcnn")
    contract = contract_of(model, "faster_rcnn")
    given = graph_inputs(TASK.kind, FULL, TARGET, Preprocess((64, 96)))
    references = graph_references(model, TASK, "final", {}, given, image_sizes=True)
    runner = PyTorchRunner(Changed(contract, change), TASK.kind.specs(image_sizes=True), TASK.outputs("final"))
    gates = merged_gates()["graph"]
    cases = list(
        graph_parity(runner, references, small_task("detection"), "final", gates, family_of(model).decision_rule(model))
    )
    assert any(case.findings.failures for case in cases) is not good
    if good:
        assert sum(case.findings.matched for case in cases) > 0


class Listens(nn.Module):
    """A detector that keeps what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Tensor] = []

    def forward(self, images: list[Tensor]) -> list[dict[str, Tensor]]:
        self.seen += images
        height, width = images[0].shape[1:]
        box = torch.tensor([[0.0, 0.0, width, height]])
        return [{"boxes": box, "scores": torch.tensor([0.9]), "labels": torch.tensor([1])}]


@pytest.mark.parametrize(
    ("shape", "fields", "valid"),
    [
        ((100, 200), {"size": (64, 96)}, (48, 96)),
        ((40, 33), {"size": None, "resize": "keep"}, (40, 33)),
        ((64, 96), {"size": (64, 96)}, (64, 96)),
    ],
)
def test_the_pipelines_reference_is_given_the_image_alone(
    shape: tuple[int, int], fields: dict[str, Any], valid: tuple[int, int]
) -> None:
    model, sample_image = Listens(), np.full((*shape, 3), 200, np.uint8)
    found = reference_result(model, TASK, Preprocess.from_dict(fields), {}, sample_image, image_sizes=True)
    assert [tuple(tensor.shape) for tensor in model.seen] == [(3, *valid)] * 2
    assert all(torch.allclose(tensor, torch.tensor(200 / 255)) for tensor in model.seen), "no padding"
    np.testing.assert_allclose(found.result.boxes, [[0, 0, shape[1], shape[0]]], rtol=1e-6)  # type: ignore[union-attr]
    assert found.own.tensor.shape == tuple(found.placed.tensor.shape[1:]), "the input is compared whole"


def test_without_it_the_padding_is_a_part_of_the_image() -> None:
    model = Listens()
    reference_result(model, TASK, Preprocess((64, 96)), {}, np.full((100, 200, 3), 200, np.uint8))
    assert [tuple(tensor.shape) for tensor in model.seen] == [(3, 64, 96)] * 2
