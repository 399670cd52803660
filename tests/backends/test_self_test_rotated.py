"""The self-test of rotated boxes: the same rectangle in other numbers is no deviation, another rectangle is."""

from typing import Any, ClassVar

import numpy as np
import pytest

from backends.self_test.comparing import deviations
from backends.self_test.stored import SelfTest
from pipeline.parity.gates import merged_gates
from zoo.tasks.rotated_detection import RotatedDetection

GATES = merged_gates()["graph"]
ROLES = RotatedDetection.output_roles
BOXES = np.array([[[30, 20, 16, 8, 0.5], [50, 30, 20, 6, -1.2], [70, 40, 9, 9, 0.0]]], np.float32)
QUARTER = np.float32(np.pi / 2)


def found(boxes: Any, proved: dict[str, Any], thresholds: Any = None) -> dict[str, Any]:
    """The deviations where the boxes are these, by output."""
    test = SelfTest.of({}, {}, proved, ROLES)
    outputs = proved | {"boxes": boxes}
    return {one.output: one for one in deviations(test, outputs, GATES, thresholds or {})}


class TestFinal:
    proved: ClassVar[dict[str, Any]] = {
        "num_dets": np.array([3]),
        "boxes": BOXES,
        "scores": np.array([[0.9, 0.8, 0.7]], np.float32),
        "labels": np.array([[0, 0, 1]]),
    }

    def test_other_numbers_of_the_same_rectangles(self) -> None:
        other = BOXES[..., [0, 1, 3, 2, 4]] + np.array([0, 0, 0, 0, QUARTER], np.float32)
        deviation = found(other, self.proved)["boxes"]
        assert deviation.passed
        assert deviation.unit == "px"

    def test_a_turned_rectangle(self) -> None:
        turned = BOXES + np.array([0, 0, 0, 0, 0.02], np.float32)
        deviation = found(turned, self.proved)["boxes"]
        assert not deviation.passed
        assert deviation.worst == pytest.approx(0.2, abs=0.05)  # of the longest box, at its corners

    def test_a_rectangle_elsewhere_is_lost(self) -> None:
        deviation = found(BOXES + np.array([0, 60, 0, 0, 0], np.float32), self.proved)["detections"]
        assert (deviation.passed, deviation.detail) == (False, "3 that were proved are missing, 3 are new")


class TestDecoded:
    proved: ClassVar[dict[str, Any]] = {
        "boxes": BOXES,
        "scores": np.array([[[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]]], np.float32),
    }

    def test_the_gate_holds_for_the_corners(self) -> None:
        assert found(BOXES, self.proved)["boxes"].passed
        turned = found(BOXES + np.array([0, 0, 0, 0, 0.02], np.float32), self.proved)["boxes"]
        assert not turned.passed  # 0.02 of pixels would be within the gate
        assert turned.unit == "px"

    def test_rows_may_change_places(self) -> None:
        order = [1, 0, 2]
        swapped = {name: output[:, order] for name, output in self.proved.items()}
        test = SelfTest.of({}, {}, self.proved, ROLES)
        assert all(one.passed for one in deviations(test, swapped, GATES, {}))
