"""What rounds an input explains as much end to end as it changes in PyTorch, and nothing systematic."""

from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from pipeline.inputs.named_input import NamedInput, read_input
from pipeline.parity.errors import BEYOND_ROUNDING, CONSTANT, ENGINE, GRAPH, PREPROCESSING, meaning
from pipeline.parity.gates import merged_gates
from pipeline.parity.pipeline_parity import pipeline_case
from pipeline.parity.records import Case, ComparedConstant, ParityRecord
from pipeline.parity.reference_result import reference_result
from tests.examples import slow_but
from tests.pipeline.parity.chance_segmentors import CLASSES, chance_segmentor
from zoo.comparison import Findings
from zoo.comparison.decision_rule import DecisionRule
from zoo.input_kinds import input_kind
from zoo.input_kinds.image.input_rounding import GREY_LEVELS, rounded_inputs
from zoo.input_kinds.image.reference_input import reference_input
from zoo.preprocess import Geometry, Preprocess
from zoo.tasks import build_task
from zoo.tasks.semantic_segmentation import SegmentationResult
from zoo.tasks.semantic_segmentation.proof.segmentation_proof import explained_margin

VAL = Path(__file__).parents[3] / "zoo/data/digits/val/images"
FIELDS = {"size": (128, 160)}
OLD_GATE = 0.002  # of the pixels, in every model
TASK = build_task(
    {"type": "SemanticSegmentation", "classes": [{"name": str(n), "category_id": n} for n in range(CLASSES)]}
)
OPEN = {"pipeline": {"input_max": 255, "input_mean": 255}}
Resize = Callable[..., Any]
RESIZE = cv2.resize


class EagerDeployment:
    """A deployment that computes what PyTorch computes; ``change`` of its preprocessing, or another ``wrong`` one."""

    def __init__(self, model: nn.Module, **change: Any) -> None:
        self.model, self.rule = model, Preprocess.from_dict(FIELDS | change)
        self.manifest = SimpleNamespace(output_level="final")
        self.task = TASK

    def preprocess(self, images: list[np.ndarray]) -> tuple[np.ndarray, list[Geometry]]:
        tensor = np.empty((1, 3, *FIELDS["size"]), np.float32)
        return tensor, [self.rule.run(images[0], tensor[0])]

    def __call__(self, image: np.ndarray) -> SegmentationResult:
        tensor, (geometry,) = self.preprocess([image])
        with torch.inference_mode():
            labels = self.model(torch.from_numpy(tensor))[0].argmax(dim=0).numpy().astype(np.uint8)
        return SegmentationResult(geometry.label_map_to_image(labels))


@pytest.fixture(scope="module")
def images() -> list[NamedInput]:
    """An image that shrinks, and one that grows."""
    first, second = (read_input(input_kind("image"), path) for path in sorted(VAL.glob("*.jpg"))[:2])
    small = np.asarray(cv2.resize(second.value, None, fx=0.3, fy=0.3, interpolation=cv2.INTER_AREA))
    return [first, NamedInput("small", small.astype(np.uint8))]


@pytest.fixture(scope="module", params=slow_but(["unet", "segformer"], "unet"))
def model(request: pytest.FixtureRequest, images: list[NamedInput]) -> nn.Module:
    tensors = torch.cat([reference_input(image.value, FIELDS).tensor for image in images])
    return chance_segmentor(request.param, tensors)


def compared(
    model: nn.Module, deployment: EagerDeployment, image: NamedInput, gates: Mapping[str, Any] | None = None
) -> Case:
    reference = reference_result(model, TASK, Preprocess.from_dict(FIELDS), {}, image.value)
    case, _ = pipeline_case(deployment, image, reference, merged_gates(gates), DecisionRule())  # type: ignore[arg-type]
    return case


def relabelled(case: Case) -> dict[str, float]:
    found = {figure.name: figure.max_error for figure in case.findings.figures}
    return {name: error for name, error in found.items() if name.startswith("relabelled") and error is not None}


def test_a_right_segmentor_with_noisy_borders_passes(model: nn.Module, images: list[NamedInput]) -> None:
    for image in images:
        case = compared(model, EagerDeployment(model), image)
        assert case.findings.failures == ()
        parts = relabelled(case)
        assert parts["relabelled, end to end"] > OLD_GATE  # which refused it
        assert parts["relabelled beyond rounding, end to end"] < OLD_GATE / 8


@pytest.mark.parametrize(
    "change",
    [{"resize": "stretch"}, {"interpolation": "nearest"}, {"interpolation": "area"}, {"pad_value": 0}],
    ids=str,
)
def test_another_preprocessing_fails(model: nn.Module, images: list[NamedInput], change: dict[str, Any]) -> None:
    """By the input, and by the labels as well: what is wrong explains nothing."""
    case = compared(model, EagerDeployment(model, **change), images[0])
    assert case.findings.failures[0].startswith(("input: largest error", "mean of input"))
    if "pad_value" not in change:
        assert any(failure.startswith("end to end: ") for failure in case.findings.failures)


def _antialias(image: Any, size: tuple[int, int], interpolation: int) -> Any:
    pixels = torch.from_numpy(np.ascontiguousarray(image)).permute(2, 0, 1)[None].float()
    resized = F.interpolate(pixels, size=size[::-1], mode="bilinear", antialias=True)[0].round()
    return resized.permute(1, 2, 0).numpy().astype(np.uint8)


def _nearest(image: Any, size: tuple[int, int], interpolation: int) -> Any:
    return RESIZE(image, size, interpolation=cv2.INTER_NEAREST)


def _swapped(image: Any, size: tuple[int, int], interpolation: int) -> Any:
    return np.ascontiguousarray(RESIZE(image, size, interpolation=interpolation)[:, :, ::-1])


@pytest.mark.parametrize("resize", [_antialias, _nearest, _swapped])
def test_a_wrong_input_fails_end_to_end_alone(
    model: nn.Module, images: list[NamedInput], monkeypatch: pytest.MonkeyPatch, resize: Resize
) -> None:
    """The production code itself is wrong, so that input and graph agree with it, and no gate looks at the input."""

    def resized(pixels: Any, size: tuple[int, int], interpolation: int) -> Any:
        return (resize if pixels.ndim == 3 else RESIZE)(pixels, size, interpolation=interpolation)  # 2: a label map

    monkeypatch.setattr(cv2, "resize", resized)
    found = compared(model, EagerDeployment(model), images[0], OPEN).findings
    assert found.failures
    assert all(failure.startswith("end to end: ") for failure in found.failures)
    assert compared(model, EagerDeployment(model), images[0]).findings.failures[0].startswith("input: largest error")


def test_the_rounded_tensors() -> None:
    rng = np.random.default_rng(0)
    own = rng.random((3, 20, 30)).astype(np.float32)
    production = (own + rng.normal(0, 0.3 / GREY_LEVELS, own.shape)).astype(np.float32)
    levels, signs, others = islice(rounded_inputs(own, production), 3)
    assert np.allclose(levels * GREY_LEVELS, np.round(levels * GREY_LEVELS), atol=1e-4)
    for tensor in (levels, signs, others):
        assert tensor.dtype == np.float32
        assert np.abs(tensor - own).max() <= 0.5001 / GREY_LEVELS
    assert not np.array_equal(signs, others)
    for again, first in zip(rounded_inputs(own, production), (levels, signs, others), strict=False):
        assert np.array_equal(again, first)
    assert all(np.array_equal(tensor, levels) for tensor in islice(rounded_inputs(levels, levels), 3))


def test_the_margin_is_the_change_of_the_difference_of_two_logits() -> None:
    own = np.zeros((3, 10, 10), np.float32)
    assert explained_margin(own, own + np.float32(5)) == 0  # of all alike: no label moves
    other = own.copy()
    other[0], other[2] = 0.25, -0.5
    other[1, 0, 0] = 100  # one pixel in a hundred
    assert 0.75 <= explained_margin(own, other) < 2


@pytest.mark.parametrize(
    ("kind", "failure", "words"),
    [
        ("graph", "logits: largest error 1", GRAPH),
        ("pipeline", "input: largest error 3 grey levels", PREPROCESSING),
        ("pipeline", "same input: 4 of 9 pixels relabelled", ENGINE),
        ("pipeline", "end to end: 4 of 9 pixels relabelled", BEYOND_ROUNDING),
    ],
)
def test_a_missed_comparison_says_what_it_means(kind: str, failure: str, words: str) -> None:
    case = Case(kind, ("a.png",), (1, 3, 4, 4), Findings(failures=(failure,)))
    assert meaning(ParityRecord({}, (case,))) == words
    assert meaning(ParityRecord({}, ())) is None
    other = ComparedConstant("NMS threshold", "roi_heads", "0.5", "0.505", passed=False)
    assert meaning(ParityRecord({}, (case,), constants=(other,))) == CONSTANT
