"""Query detectors whose encoder's scores tie: what PyTorch gives by each selection is right, and nothing else is."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from pipeline.parity.gates import merged_gates
from pipeline.parity.graph_inputs import GraphInput
from pipeline.parity.graph_parity import GraphReference, graph_parity, graph_references
from tests.small_query_detectors import save
from tests.small_tasks import small_task
from zoo.comparison.decision_rule import DecisionRule
from zoo.models.transformers.query_detectors.selection import other_selections

QUERIES, PLACES = 4, 9


class TwoStages(nn.Module):
    """images [N, 1, 1, PLACES] -> the sum of each selected place's own number, as every query sees all others."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        scores = images.flatten(1)
        _, index = torch.topk(scores, QUERIES, dim=1)
        return torch.gather(torch.arange(float(PLACES)).expand_as(scores), 1, index).sum(dim=1)


def scores_of(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32).reshape(1, 1, 1, PLACES)


def answers(images: torch.Tensor, tolerance: float = 1e-4) -> list[tuple[int, str, Any]]:
    model = TwoStages()
    choices = other_selections(model, lambda: model(images), tolerance)
    return [(image, reason, run()) for image, reason, run in choices]


def test_without_a_tie_there_is_one_answer() -> None:
    assert answers(scores_of(9, 8, 7, 6, 5, 4, 3, 2, 1)) == []


def test_a_tie_at_the_kth_score_has_two() -> None:
    ((image, reason, result),) = answers(scores_of(9, 8, 7, 6.0001, 6, 4, 3, 2, 1))
    assert image == 0
    assert result.item() == 0 + 1 + 2 + 4  # its own is 0 + 1 + 2 + 3
    assert "encoder score 6.000000 instead of 6.000100" in reason


def test_a_tie_above_the_kth_score_changes_nothing() -> None:
    assert answers(scores_of(9, 8.00001, 8, 6, 5, 4, 3, 2, 1)) == []


def test_of_three_that_tie_each_pair_is_an_answer() -> None:
    results = {result.item() for _, _, result in answers(scores_of(9, 8, 6, 6, 6, 4, 3, 2, 1))}
    assert len(results) == 2
    assert results < {0 + 1 + a + b for a, b in ((2, 3), (2, 4), (3, 4))}


def test_each_image_of_a_batch_is_changed_alone() -> None:
    tied, apart = scores_of(9, 8, 7, 6, 6, 4, 3, 2, 1), scores_of(9, 8, 7, 6, 5, 4, 3, 2, 1)
    ((image, _, result),) = answers(torch.cat((apart, tied)))
    assert image == 1
    assert result.tolist() in ([6.0, 7.0], [6.0, 6.0])


def test_the_model_is_left_as_it_was() -> None:
    model = TwoStages()
    list(other_selections(model, lambda: model(torch.rand(1, 1, 1, PLACES)), 1e-4))
    assert "forward" not in vars(model)


@pytest.fixture(scope="module")
def tied_reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, GraphReference]:
    """RT-DETR v2, an image, and scores of its encoder that tie at the K-th place."""
    pytest.importorskip("transformers", reason="the model of these tests is transformers'")
    from zoo.models.transformers.query_detectors import TransformersDetector

    folder: Path = tmp_path_factory.mktemp("tied")
    save("rt_detr_v2", folder)
    detector = TransformersDetector(folder).eval()

    def tie(_module: nn.Module, _inputs: Any, output: torch.Tensor) -> torch.Tensor:
        best = output.amax(dim=-1)
        order = best.argsort(dim=1, descending=True)
        count = detector.model.config.num_queries
        change = best.gather(1, order[:, count - 1 : count]) - best.gather(1, order[:, count : count + 1]) - 1e-6
        next_one = order[:, count : count + 1, None].expand(-1, 1, output.shape[-1])
        return output.scatter_add(1, next_one, change[..., None].expand_as(next_one))

    detector.model.model.enc_score_head.register_forward_hook(tie)
    images = np.random.default_rng(0).random((2, 3, 64, 64), dtype=np.float32)
    task = small_task("detection")
    (reference,) = graph_references(detector, task, "decoded", {}, [GraphInput(("a", "b"), {"images": images})])
    return detector, reference


@pytest.mark.libraries
def test_a_backend_that_selects_the_other_query_is_right(tied_reference: tuple[Any, GraphReference]) -> None:
    _, reference = tied_reference
    assert {other.image for other in reference.others()} == {0, 1}
    other = next(other for other in reference.others() if other.image == 1).run().outputs
    swapped = {name: np.concatenate((reference.outputs[name][:1], other[name])) for name in reference.outputs}
    (findings,) = compared(reference, swapped)
    assert not findings.failures
    assert "instead of" in findings.borderline[0].reason


@pytest.mark.libraries
def test_a_backend_that_is_wrong_stays_wrong(tied_reference: tuple[Any, GraphReference]) -> None:
    _, reference = tied_reference
    wrong = {name: array.copy() for name, array in reference.outputs.items()}
    wrong["scores"][1, 0] += 0.01
    (findings,) = compared(reference, wrong)
    assert findings.failures


def compared(reference: GraphReference, outputs: dict[str, Any]) -> list[Any]:
    runner = FixedOutputs(outputs)
    gates = merged_gates({})["graph"]
    cases = graph_parity(runner, [reference], small_task("detection"), "decoded", gates, DecisionRule())  # type: ignore[arg-type]
    return [case.findings for case in cases]


class FixedOutputs:
    """A backend that gives arrays of ours."""

    def __init__(self, outputs: dict[str, Any]) -> None:
        self.outputs = outputs

    def run_float32(self, _arrays: Any) -> dict[str, Any]:
        return self.outputs
