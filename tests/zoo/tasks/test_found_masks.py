"""Instances that a model makes by itself, as SOLO does, and what rounding may decide of them."""

from typing import Any

import numpy as np
import pytest
import torch

from pipeline.parity.gates import merged_gates
from zoo.comparison import Findings
from zoo.comparison.decision_rule import DecisionRule
from zoo.families import contract_module
from zoo.tasks import build_task
from zoo.tasks.instance_masks import InstanceMasksResult
from zoo.tasks.instance_masks.proof.comparing import compare_instances
from zoo.tasks.instance_masks.proof.found_masks import FoundMasks, found_masks_of
from zoo.tasks.instance_masks.proof.model_output import is_either, judges_of

TASK = build_task({"type": "InstanceMasks", "classes": [{"name": str(i), "category_id": i} for i in range(3)]})
GATES = merged_gates({}, own=TASK.own_gates)["graph"]
NEAR = 1e-3
THRESHOLD = 0.1


def output() -> dict[str, torch.Tensor]:
    """Of two images with four slots: three instances, and none."""
    generator = torch.Generator().manual_seed(0)
    masks = torch.randn(2, 4, 8, 12, generator=generator)
    masks[0, 3], masks[1] = -0.5, -0.5
    return {
        "scores": torch.tensor([[0.9, 0.5, THRESHOLD + 1e-6, 0.0], [0.0] * 4]),
        "labels": torch.tensor([[2, 0, 1, -1], [-1] * 4]),
        "mask_logits": masks,
    }


def compared(kept: list[int], rule: DecisionRule = DecisionRule(score=THRESHOLD), **changes: Any) -> Findings:  # noqa: B008
    """Of the first image, with a backend that has these slots, and `changes` to its arrays."""
    judge = found_masks_of(output())[0]
    arrays = {"scores": judge.found_scores[kept], "labels": judge.labels[kept], "masks": judge.masks[kept] > 0}
    found = InstanceMasksResult(np.zeros((len(kept), 4)), **(arrays | changes))
    return compare_instances(judge, found, GATES, near=NEAR, rule=rule)


class OfSlots(torch.nn.Module):
    """Gives the same instances for every image."""

    detections_per_img = 4

    def forward(self, images: torch.Tensor) -> dict[str, torch.Tensor]:
        return {name: tensor[: len(images)] for name, tensor in output().items()}


def test_slots_without_an_instance_are_left_out() -> None:
    first, second = judges_of(output())
    assert isinstance(first, FoundMasks)
    assert [len(first.labels), len(second.labels)] == [3, 0]
    assert is_either(output())
    assert not is_either({**output(), "scores": torch.zeros(2)})


def test_the_tensors_of_level_final_are_the_models_own() -> None:
    counts, scores, labels, masks = contract_module(OfSlots(), TASK, "final", {})(torch.zeros(2, 3, 32, 48))
    given = output()
    assert counts.tolist() == [3, 0]
    assert torch.equal(scores, given["scores"])
    assert torch.equal(labels, given["labels"])
    assert torch.equal(masks.bool(), given["mask_logits"] > 0)


def test_the_same_instances_match() -> None:
    findings = compared([0, 1, 2])
    assert (findings.matched, findings.failures, findings.borderline) == (3, (), ())


def test_one_at_the_threshold_may_be_left_out() -> None:
    findings = compared([0, 1])
    assert (findings.matched, findings.failures) == (2, ())
    assert [each.what for each in findings.borderline] == ["only PyTorch has label 1 with score 0.100001"]
    assert "of the smallest score that counts, 0.100000" in findings.borderline[0].reason


def test_one_at_the_threshold_may_come() -> None:
    judge = found_masks_of(output())[0]
    masks = np.concatenate((judge.masks > 0, np.ones((1, 8, 12), np.bool_)))
    for score, good in ((THRESHOLD + 1e-6, True), (THRESHOLD - 1e-2, False), (0.3, False)):
        scores, labels = np.append(judge.found_scores, np.float32(score)), np.append(judge.labels, 0)
        found = InstanceMasksResult(np.zeros((4, 4)), scores=scores, labels=labels, masks=masks)
        findings = compare_instances(judge, found, GATES, near=NEAR, rule=DecisionRule(score=THRESHOLD))
        assert (findings.failures == ()) is good
        assert any(each.what.startswith("only the backend has label 0") for each in findings.borderline) is good


def test_the_last_of_a_full_image_may_be_left_out() -> None:
    assert not compared([0, 1], DecisionRule(slots=3)).failures
    assert compared([0, 1], DecisionRule(slots=4)).failures


def test_another_one_must_be_there() -> None:
    assert compared([0, 2]).failures == ("the backend misses label 0 with score 0.5000",)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"scores": np.array([0.9, 0.49, 0.1])}, "is 0.01 of score and 0 of the pixels away"),
        ({"labels": np.array([2, 1, 1])}, "PyTorch does not have label 1, score 0.5000"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], words: str) -> None:
    findings = compared([0, 1, 2], **changes)
    assert any(words in failure for failure in findings.failures), findings.failures


def test_another_mask_is_refused() -> None:
    findings = compared([0, 1, 2], masks=found_masks_of(output())[0].masks[[1, 0, 2]] > 0)
    assert findings.differences == 2


def test_infinity_is_refused() -> None:
    judge = found_masks_of({**output(), "mask_logits": torch.full((2, 4, 8, 12), torch.inf)})[0]
    empty = InstanceMasksResult(np.zeros((0, 4)), np.zeros(0), np.zeros(0), np.zeros((0, 8, 12), np.bool_))
    findings = compare_instances(judge, empty, GATES, near=NEAR)
    assert findings.failures == ("NaN or infinity in the masks or scores of PyTorch",)
