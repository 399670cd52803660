"""A self-test of detections that have masks of the image and no boxes."""

from typing import Any

import numpy as np
import pytest

from backends.self_test.comparing import deviations
from backends.self_test.deviation import Deviation
from backends.self_test.stored import SelfTest
from pipeline.parity.gates import GRAPH
from pipeline.self_test.gates import self_test_gates
from zoo.tasks.instance_masks import InstanceMasks

FP32, INT8 = self_test_gates(GRAPH, "fp32"), self_test_gates(GRAPH, "int8")


def outputs() -> dict[str, np.ndarray]:
    """Three objects of one image, in five slots."""
    masks = np.zeros((1, 5, 16, 16), np.uint8)
    masks[0, 0, :8], masks[0, 1, 4:12, 4:12], masks[0, 2, :, 8:] = 1, 1, 1
    return {
        "num_dets": np.array([3]),
        "scores": np.array([[0.9, 0.6, 0.3, 0, 0]], np.float32),
        "labels": np.array([[1, 0, 1, -1, -1]]),
        "masks": masks,
    }


def compared(change: Any = None, gates: dict[str, float] = FP32) -> dict[str, Deviation]:
    here = outputs()
    if change is not None:
        change(here)
    test = SelfTest.of({}, {}, outputs(), InstanceMasks.output_roles)
    again = SelfTest.from_bytes(test.to_bytes(), "memory", InstanceMasks.output_roles)
    return {found.output: found for found in deviations(again, here, gates, {})}


@pytest.mark.parametrize("gates", [FP32, INT8])
def test_the_same_pass(gates: dict[str, float]) -> None:
    assert all(found.passed for found in compared(gates=gates).values())


def swap(here: dict[str, np.ndarray]) -> None:
    """Another order of the slots says nothing."""
    for name in ("scores", "labels", "masks"):
        here[name][:, :3] = here[name][:, [2, 0, 1]]


def one_pixel(here: dict[str, np.ndarray]) -> None:
    here["masks"][0, 0, 0, 0] = 0


def some_pixels(here: dict[str, np.ndarray]) -> None:
    here["masks"][0, 0, 0] = 0


def other_score(here: dict[str, np.ndarray]) -> None:
    here["scores"][0, 1] += 0.01


def other_mask(here: dict[str, np.ndarray]) -> None:
    here["masks"][0, 1] = 0
    here["masks"][0, 1, 14:, :4] = 1


@pytest.mark.parametrize(
    ("change", "failing"),
    [
        (swap, []),
        (one_pixel, []),
        (some_pixels, ["image_masks"]),
        (other_score, ["scores"]),
        (other_mask, ["detections"]),
    ],
)
def test_what_differs_is_named(change: Any, failing: list[str]) -> None:
    assert [name for name, found in compared(change).items() if not found.passed] == failing


def test_below_fp32_scores_of_the_same_objects_are_compared() -> None:
    (found,) = compared(other_mask, INT8).values()
    assert found.output == "scores"
    assert not found.passed
    (found,) = compared(one_pixel, INT8).values()
    assert found.passed
