"""Pasted masks are compared between detections that were paired, pixel by pixel of the graph's input."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.parity.gates import GRAPH, merged_gates
from pipeline.parity.levels import compare_outputs
from tests.examples import examples
from tests.small_tasks import small_task
from zoo.comparison import Findings
from zoo.comparison.decision_rule import DecisionRule
from zoo.tasks.instance_segmentation import InstanceSegmentationResult

RULE = DecisionRule(score=0.05, nms_iou=0.5, slots=5)
SIZE = (120, 160)  # 0.1 % are 19 pixels
Y, X = np.mgrid[:28, :28]
FOUND = InstanceSegmentationResult(
    np.array([[10.3, 10.4, 50.2, 50.7], [100.3, 70.4, 140.6, 110.1], [20.2, 60.3, 50.8, 90.6]]),
    np.array([0.9, 0.8, 0.7]),
    np.array([1, 2, 1]),
    np.stack([1 / (1 + np.exp(np.hypot(X - 13.5, Y - 13.5) - radius)) for radius in (12.3, 10.2, 11.4)]),
)
Outputs = dict[str, np.ndarray]


def padded(result: InstanceSegmentationResult = FOUND) -> Outputs:
    """One image in five slots, with the masks as torchvision pastes them."""
    values = {name: getattr(result, name) for name in ("boxes", "scores", "labels", "masks")}
    values["image_masks"] = result.image_masks(*SIZE).astype(np.uint8)
    outputs: Outputs = {"num_dets": np.array([len(result)])}
    for name, array in values.items():
        outputs[name] = np.full((1, 5, *array.shape[1:]), -1 if name == "labels" else 0, array.dtype)
        outputs[name][0, : len(result)] = array
    return outputs


def with_masks(masks: np.ndarray) -> Outputs:
    return padded() | {"image_masks": masks}


def compared(candidate: Outputs) -> Findings:
    return compare_outputs(small_task("instance-segmentation"), "final", padded(), candidate, GRAPH, RULE)


def test_equal_masks() -> None:
    result = compared(padded())
    assert (result.matched, result.failures, result.borderline) == (3, (), ())
    figures = {figure.name: figure for figure in result.figures}
    assert (figures["image_masks"].max_error, figures["image_masks"].gate, figures["image_masks"].count) == (0, 1e-3, 3)


def test_masks_follow_their_detections_not_their_place() -> None:
    (failure,) = compared(padded(FOUND[np.array([2, 0, 1])])).failures
    assert "PyTorch's best come first" in failure


@pytest.mark.parametrize(("count", "passes"), [(19, True), (20, False)])
def test_a_thousandth_of_the_image_may_differ(count: int, passes: bool) -> None:
    masks = padded()["image_masks"].copy()
    masks[0, 1].reshape(-1)[:count] = 1
    result = compared(with_masks(masks))
    figure = next(figure for figure in result.figures if figure.name == "image_masks")
    assert figure.max_error == pytest.approx(count / 19200)
    assert figure.passed is passes
    assert bool(result.failures) is not passes
    if not passes:
        assert result.failures[0].startswith(
            "the image mask of label 2, score 0.8000, box [100.3, 70.4, 140.6, 110.1] differs in 20 of 19200 pixels, "
        )


@pytest.mark.parametrize("axis", [2, 3])
@pytest.mark.parametrize("pixels", [-3, 1, 2])
def test_shifted_masks_fail(axis: int, pixels: int) -> None:
    failures = compared(with_masks(np.roll(padded()["image_masks"], pixels, axis))).failures
    assert len(failures) == 3
    assert all("the image mask of label" in failure for failure in failures)


def test_masks_of_ones_fail_and_masks_of_zeros() -> None:
    for value in (0, 1):
        masks = np.zeros_like(padded()["image_masks"])
        masks[0, :3] = value
        assert len(compared(with_masks(masks)).failures) == 3


def test_the_mask_of_a_small_object_must_be_its_own() -> None:
    """Of fewer pixels than 0.1 % of the image."""
    small = replace(FOUND, boxes=FOUND.boxes * np.float32(0.05))
    nothing = padded(small) | {"image_masks": np.zeros_like(padded()["image_masks"])}
    result = compare_outputs(small_task("instance-segmentation"), "final", padded(small), nothing, GRAPH, RULE)
    assert padded(small)["image_masks"].any(axis=(2, 3)).sum() == 3
    assert [figure.passed for figure in result.figures if figure.name.startswith("image_masks")] == [True, False]
    assert len(result.failures) == 3


def test_the_padding_is_judged_with_the_rest() -> None:
    left = padded()
    left["image_masks"][0, 4, 0, 0] = 1
    assert "slots past num_dets = 3 hold values" in compared(left).failures[0]
    wide = padded() | {"image_masks": padded()["image_masks"].astype(np.int32)}
    assert "image_masks: the backend gives int32 [1, 5, 120, 160]" in compared(wide).failures[0]
    without = {name: value for name, value in padded().items() if name != "image_masks"}
    assert compared(without).failures == ("outputs image_masks: only PyTorch has them",)


def on_a_whole_pixel(shift: float) -> InstanceSegmentationResult:
    """The enlarged box of the first object ends at 140, give or take `shift`: 65 + 70 * 30 / 28 = 140."""
    boxes = FOUND.boxes.copy()
    boxes[0] = (-5, 10.4, 135 + shift, 110.7)
    return replace(FOUND, boxes=boxes, scores=np.array([0.95, 0.8, 0.7]))


def test_a_corner_on_a_whole_pixel_is_borderline_where_the_backend_pasted_its_own_mask() -> None:
    below, above = padded(on_a_whole_pixel(-1e-4)), padded(on_a_whole_pixel(1e-4))
    result = compare_outputs(small_task("instance-segmentation"), "final", below, above, GRAPH, RULE)
    assert result.failures == ()
    assert [entry.reason for entry in result.borderline] == ["a corner of its enlarged box is on a whole pixel"]
    assert "differs in" in result.borderline[0].what
    above["image_masks"] = np.roll(above["image_masks"], 2, axis=3)
    failures = compare_outputs(small_task("instance-segmentation"), "final", below, above, GRAPH, RULE).failures
    assert len(failures) == 3


@examples(12, 40)
@given(seed=st.integers(0, 10_000))
def test_rounding_errors_of_boxes_and_masks_pass(seed: int) -> None:
    """What is pasted of boxes and masks that differ by what two engines differ by."""
    random = np.random.default_rng(seed)
    rounded = replace(
        FOUND,
        boxes=FOUND.boxes + random.uniform(-1e-4, 1e-4, FOUND.boxes.shape).astype(np.float32),
        masks=(FOUND.masks + random.uniform(-1e-5, 1e-5, FOUND.masks.shape)).astype(np.float32),
    )
    assert compared(padded(rounded)).failures == ()


def test_the_gates_are_data() -> None:
    assert merged_gates({"graph": {"image_masks": 0.01}})["graph"]["image_masks"] == 0.01
