"""The pipeline comparison: what is a failure, and what a rounding of the input explains."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torchvision.models.detection.generalized_rcnn import GeneralizedRCNN

from pipeline.inputs.named_input import NamedInput
from pipeline.parity.gates import merged_gates
from pipeline.parity.pipeline_parity import pipeline_case
from pipeline.parity.records import Case, ParityRecord
from pipeline.parity.reference_result import MANY, reference_result
from zoo.comparison import Findings
from zoo.comparison.decision_rule import DecisionRule
from zoo.families import family_of
from zoo.preprocess import Geometry, Preprocess
from zoo.tasks import build_task
from zoo.tasks.detection import DetectionResult
from zoo.tasks.detection.proof.detection_proof import EXPLAINED
from zoo.tasks.detection.proof.matching import Excuse, compare_detections

TASK = build_task({"type": "Detection", "classes": [{"name": "x", "category_id": None}] * 3})
FIELDS = {"size": (64, 96)}
RULE = DecisionRule(0.05, 0.5, 10)
IMAGE = NamedInput("a.png", np.random.default_rng(0).integers(0, 256, (100, 200, 3)).astype(np.uint8))


OWN, PRODUCTION, LEVELS, SIGNS = range(1, 5)  # the calls of a model, by the tensor that it is given
ROUNDED = range(LEVELS, SIGNS + MANY + 1)


class TwoBoxes(nn.Module):
    """A detector of two fixed boxes in the tensor's frame. The last ``jumps`` scores move at the calls ``at``."""

    def __init__(self, *, jumps: int = 0, at: tuple[int, ...] = (OWN,)) -> None:
        super().__init__()
        self.jumps, self.at = jumps, at
        self.calls = 0

    def forward(self, images: list[torch.Tensor]) -> list[dict[str, torch.Tensor]]:
        self.calls += 1
        scores = torch.tensor([0.9, 0.5])
        if self.jumps and self.calls in self.at:
            scores[-self.jumps :] -= 0.3
        boxes = torch.tensor([[4.0, 4, 40, 30], [50, 2, 90, 47]])
        return [{"boxes": boxes, "scores": scores, "labels": torch.tensor([1, 2])}]


class FakeDeployment:
    """A deployment that finds the two boxes; ``shift`` in pixels of the image, ``score`` of the second."""

    def __init__(self, shift: float = 0.0, score: float = 0.5, **preprocess: Any) -> None:
        self.rule = Preprocess.from_dict(FIELDS | preprocess)
        self.shift, self.score = shift, score
        self.manifest = SimpleNamespace(output_level="final")
        self.swapped = False
        self.task = TASK

    def preprocess(self, images: list[np.ndarray]) -> tuple[np.ndarray, list[Any]]:
        tensor = np.empty((1, 3, 64, 96), np.float32)
        geometry = self.rule.run(images[0][:, :, ::-1].copy() if self.swapped else images[0], tensor[0])
        return tensor, [geometry]

    def __call__(self, image: np.ndarray) -> DetectionResult:
        geometry = self.rule.geometry(*image.shape[:2])
        boxes = geometry.boxes_to_image(np.array([[4, 4, 40, 30], [50, 2, 90, 47]], np.float32)) + self.shift
        return DetectionResult(boxes, np.array([0.9, self.score], np.float32), np.array([1, 2]))


def findings(deployment: FakeDeployment, model: nn.Module | None = None) -> Findings:
    reference = reference_result(model or TwoBoxes(), TASK, Preprocess.from_dict(FIELDS), {}, IMAGE.value)
    case, result = pipeline_case(deployment, IMAGE, reference, merged_gates(), RULE)  # type: ignore[arg-type]
    assert isinstance(result, DetectionResult)
    assert (case.kind, case.images, case.shape) == ("pipeline", ("a.png",), (1, 3, 64, 96))
    return case.findings


def test_a_right_deployment_passes() -> None:
    found = findings(FakeDeployment())
    assert (found.failures, found.matched, found.borderline) == ((), 2, ())
    assert [figure.name for figure in found.figures] == [
        "input",
        "mean of input",
        "boxes, same input",
        "scores, same input",
        "boxes, end to end",
        "scores, end to end",
    ]


@pytest.mark.parametrize(
    ("deployment", "words"),
    [
        (FakeDeployment(shift=0.2), "same input: label 1, score 0.9000"),  # 0.2 px of the image: 0.096 of the tensor
        (FakeDeployment(score=0.502), "same input: label 2, score 0.5000"),
        (FakeDeployment(resize="stretch"), "input: largest error"),
        (FakeDeployment(interpolation="nearest"), "input: largest error"),
        (FakeDeployment(pad_value=113), "input: largest error 1 grey levels"),
    ],
)
def test_a_wrong_deployment_fails(deployment: FakeDeployment, words: str) -> None:
    found = findings(deployment)
    assert any(failure.startswith(words) for failure in found.failures), found.failures


def test_a_way_back_without_clipping_fails_where_no_box_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two boxes lie inside the image; the boxes over its edges are the comparison's own."""
    real = Geometry.boxes_to_image
    monkeypatch.setattr(Geometry, "boxes_to_image", lambda self, boxes, **_: real(self, boxes, clip=False))
    (failure,) = findings(FakeDeployment()).failures
    assert failure.startswith("way back: box [24.0, 16.0, 48.0, 71.0] of the tensor is [50.0, 33.3, 100.0, 147.9] in")


def test_swapped_colours_fail() -> None:
    deployment = FakeDeployment()
    deployment.swapped = True
    failures = findings(deployment).failures
    assert failures[0].startswith("input: largest error")
    assert "images: the deployment's tensor is not the one that the config's preprocessing makes" in failures


def test_what_pytorch_does_itself_under_rounding_is_borderline() -> None:
    found = findings(FakeDeployment(score=0.5), TwoBoxes(jumps=1))
    assert found.failures == ()
    assert [entry.reason for entry in found.borderline] == [EXPLAINED]
    assert "0.3 of score away" in found.borderline[0].what
    assert found.matched == 1
    assert all(figure.passed for figure in found.figures)


def test_all_may_move_where_a_rounding_moves_all_in_pytorch() -> None:
    found = findings(FakeDeployment(), TwoBoxes(jumps=2))
    assert found.failures == ()
    assert len(found.borderline) == 2


def test_one_may_move_where_no_other_rounding_moves_any() -> None:
    found = findings(FakeDeployment(), TwoBoxes(jumps=1, at=(OWN, *ROUNDED)))
    assert (found.failures, len(found.borderline)) == ((), 1)


def test_many_roundings_are_asked_where_two_explain_too_little() -> None:
    """Needed: a detector trained on 60 images moves up to 5 boxes of 7 in five roundings of ten, and none in two."""
    model = TwoBoxes(jumps=2, at=(OWN, *ROUNDED[:-1]))  # the last of them moves both
    found = findings(FakeDeployment(), model)
    assert (found.failures, len(found.borderline)) == ((), 2)
    assert model.calls == SIGNS + MANY
    steady = TwoBoxes()
    findings(FakeDeployment(), steady)
    assert steady.calls == SIGNS


def test_it_is_a_failure_where_more_moves_than_a_rounding_explains() -> None:
    found = findings(FakeDeployment(), TwoBoxes(jumps=2, at=(OWN, *ROUNDED)))
    assert [failure.split(",")[0] for failure in found.failures] == ["end to end: label 1", "end to end: label 2"]
    assert found.borderline == ()
    assert all(figure.passed for figure in found.figures if not figure.name.endswith("end to end"))
    assert [figure.name for figure in found.figures if not figure.passed] == ["scores, end to end"]
    assert ParityRecord(merged_gates(), (Case("pipeline", ("a.png",), (1, 3, 64, 96), found),)).verdict == "failed"


def test_an_excuse_is_for_so_many_and_no_more() -> None:
    boxes = np.array([(20.0 * x, 20.0 * y, 20.0 * x + 10, 20.0 * y + 10) for x in range(10) for y in range(10)])

    def moved(count: int) -> Findings:
        sides = []
        for shift in (0.0, 1.0):
            part = np.arange(100) < count
            placed = (boxes + shift * part[:, None]).astype(np.float32)
            sides.append(DetectionResult(placed, np.full(100, 0.9, np.float32), np.zeros(100, np.int64)))
        return compare_detections(sides[0], sides[1], merged_gates()["pipeline"], RULE, Excuse(EXPLAINED, 2))

    assert (len(moved(2).borderline), moved(2).failures) == (2, ())
    assert (len(moved(3).borderline), len(moved(3).failures)) == (0, 3)


def test_it_is_a_failure_where_the_deployment_is_not_what_pytorch_gives_for_its_input() -> None:
    found = findings(FakeDeployment(score=0.3), TwoBoxes(jumps=1))
    assert any(failure.startswith("same input: label 2") for failure in found.failures)
    assert any(failure.startswith("end to end: label 2") for failure in found.failures)
    assert found.borderline == ()


def test_it_is_a_failure_where_the_input_is_wrong() -> None:
    found = findings(FakeDeployment(score=0.5, pad_value=0), TwoBoxes(jumps=1))
    assert any(failure.startswith("end to end: label 2") for failure in found.failures)


def test_decision_rules_are_read_from_the_model() -> None:
    one_stage = nn.Module()
    one_stage.score_thresh, one_stage.nms_thresh, one_stage.detections_per_img = 0.05, 0.5, 100
    two_stage = GeneralizedRCNN(nn.Module(), nn.Module(), one_stage, nn.Module())
    for model in (two_stage, one_stage):
        assert family_of(model).decision_rule(model) == DecisionRule(0.05, 0.5, 100)
    assert family_of(nn.Module()).decision_rule(nn.Module()) == DecisionRule()
