"""Other right answers of a model are asked for where a backend differs, and of the input in which it does."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from pipeline.export.reference_run import _others_at
from pipeline.parity.gates import merged_gates
from pipeline.parity.graph_inputs import GraphInput
from pipeline.parity.graph_parity import GraphReference, graph_parity, graph_references
from pipeline.parity.other_choices import Answer, OtherChoice
from pipeline.parity.reference_result import reference_result
from tests.rewriters.small_pillars import CLASSES, padded, random_clouds, small_pillars
from zoo.comparison import Findings
from zoo.families import family_of
from zoo.input_kinds.points.rule import PointsRule
from zoo.tasks import build_task

TASK = build_task(
    {"type": "Detection3D", "classes": [{"name": f"class {i}", "category_id": i} for i in range(CLASSES)]}
)
CLOUDS = random_clouds(2, 200, 10)
for cloud in CLOUDS:
    cloud[5:8, 0] = torch.tensor([0.64 * 3 - 2e-5, 0.64 * 5 + 2e-5, 0.64 * 7 - 2e-5])  # at edges
    cloud[5:8, 1:3] = 0.1
ANSWERS = 4  # of a cloud: all three points in the neighbouring pillars, and each of them alone


class Counted:
    """A detector, and how often it ran."""

    def __init__(self) -> None:
        self.model = small_pillars("CenterPoint")
        self.runs = 0
        self.model.register_forward_hook(self._count)

    def _count(self, *_: Any) -> None:
        self.runs += 1


@pytest.fixture
def counted() -> Counted:
    return Counted()


def reference_of(model: Any) -> GraphReference:
    arrays = {name: tensor.numpy() for name, tensor in padded(CLOUDS, 200).items()}
    (reference,) = graph_references(model, TASK, "decoded", {}, [GraphInput(("a", "b"), arrays)])
    return reference


def compared(reference: GraphReference, outputs: dict[str, Any]) -> Findings:
    runner: Any = SimpleNamespace(run_float32=lambda _: outputs)
    rule = family_of(small_pillars("CenterPoint")).decision_rule(small_pillars("CenterPoint"))
    (case,) = graph_parity(runner, [reference], TASK, "decoded", merged_gates(own=TASK.own_gates)["graph"], rule)
    return case.findings


def test_a_backend_that_agrees_costs_one_run(counted: Counted) -> None:
    reference = reference_of(counted.model)
    assert not compared(reference, dict(reference.outputs)).failures
    assert counted.runs == 1


def test_a_backend_that_puts_a_point_elsewhere_is_right_and_one_cloud_alone_is_asked(counted: Counted) -> None:
    reference = reference_of(counted.model)
    second = [other for other in reference.others() if other.image == 1]
    assert len(second) == ANSWERS
    moved = second[1].run()
    theirs = {name: np.concatenate((array[:1], moved.outputs[name])) for name, array in reference.outputs.items()}
    counted.runs = 0
    findings = compared(reference, theirs)
    assert not findings.failures
    assert "one point is within 0.0001 m of a pillar's edge" in findings.borderline[0].reason
    looks = 2  # where the points are, for the batch and for the cloud that differs
    assert counted.runs == looks + 2  # all three points at once, then the first


def test_a_result_that_agrees_costs_two_runs_and_its_other_answers_are_there(counted: Counted) -> None:
    reference = reference_result(counted.model, TASK, PointsRule(), {}, CLOUDS[0].numpy())
    assert counted.runs == 2  # of the reference's own tensor, and of the deployment's
    answers = [run() for _, run in reference.others()]
    assert len(answers) == ANSWERS
    assert all(type(answer.result) is type(reference.result) for answer in answers)


def test_they_are_made_by_the_thresholds_of_their_case() -> None:
    model = small_pillars("CenterPoint")
    own = model.score_thresh

    def choices() -> Any:
        yield OtherChoice(0, "a tie", lambda: Answer({"threshold": np.array([model.score_thresh])}))

    (threshold,) = [other.run().outputs["threshold"] for other in _others_at(model, 0.9, 0.1, choices)]
    assert threshold == 0.9
    assert model.score_thresh == own
