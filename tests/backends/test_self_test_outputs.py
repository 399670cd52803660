"""What a self-test keeps of every kind of output, and what it says where a machine gives something else."""

from typing import ClassVar

import cv2
import numpy as np
import pytest

from backends.self_test import detections
from backends.self_test.comparing import deviations
from backends.self_test.detections import overlaps
from backends.self_test.deviation import Deviation
from backends.self_test.matching import pairs_within
from backends.self_test.stored import SelfTest
from pipeline.parity.gates import GRAPH
from pipeline.self_test.gates import self_test_gates
from zoo.input_kinds import input_kind
from zoo.input_kinds.image.reduced import MOST_BYTES, reduced
from zoo.input_kinds.image.small_image import enlarged, tensor_of, to_png
from zoo.tasks.detection import Detection
from zoo.tasks.output_role import OutputRole
from zoo.tasks.semantic_segmentation import SemanticSegmentation

SIZE = (32, 40)
FP32, INT8 = self_test_gates(GRAPH, "fp32"), self_test_gates(GRAPH, "int8")
CHANCE = np.random.default_rng(11)
ROLES = Detection.output_roles | SemanticSegmentation.output_roles
PNG = to_png(CHANCE.integers(0, 256, (*SIZE, 3)).astype(np.uint8))
PACKED = {"png": PNG, "size": np.array((1, *SIZE))}


def kept(outputs: dict[str, np.ndarray], sure: np.ndarray | None = None) -> SelfTest:
    """Of these whole outputs, as it comes out of its file again."""
    test = SelfTest.of(PACKED, {"scale": np.array([2])}, outputs, ROLES, sure)
    content = test.to_bytes()
    again = SelfTest.from_bytes(content, "memory", ROLES)
    assert again.to_bytes() == content
    assert again.inputs(input_kind("image"))["scale"].tolist() == [2]
    return again


def compared(
    proved: dict[str, np.ndarray], here: dict[str, np.ndarray], gates: dict[str, float]
) -> dict[str, Deviation]:
    return {found.output: found for found in deviations(kept(proved), here, gates, {})}


def products(weights: np.ndarray, inputs: np.ndarray, *, saturating: bool) -> np.ndarray:
    """A 1x1 convolution [c, k] of [k, h, w] in whole numbers; pairs of products in 16 bits where it is `saturating`."""
    pairs = (weights[:, 0::2, None, None] * inputs[0::2] + weights[:, 1::2, None, None] * inputs[1::2]).astype(np.int64)
    sums = pairs.clip(-(2**15), 2**15 - 1) if saturating else pairs
    return sums.sum(axis=1)[None].astype(np.float32)


@pytest.mark.parametrize(("most", "passes"), [(127, False), (63, True)])
def test_a_cpu_that_adds_pairs_in_16_bits_shows(most: int, passes: bool) -> None:
    weights = CHANCE.integers(-most, most + 1, (8, 64))
    weights[:, :32] = np.abs(weights[:, :32])
    inputs = CHANCE.integers(150, 256, (64, *SIZE))
    proved, here = (products(weights, inputs, saturating=saturating) for saturating in (False, True))
    (found,) = compared({"logits": proved}, {"logits": here}, INT8).values()
    assert found.passed is passes, found
    there, now = ({"label_map": logits.argmax(axis=1).astype(np.uint8)} for logits in (proved, here))
    (found,) = compared(there, now, INT8).values()
    assert found.passed is passes, found


class TestTensors:
    LOGITS = CHANCE.normal(size=(1, 20, *SIZE)).astype(np.float32)

    def test_a_part_is_kept_and_judged_in_its_range(self) -> None:
        test = kept({"logits": self.LOGITS})
        assert test.outputs["logits"].size == 4096
        spread = np.ptp(self.LOGITS)
        (found,) = deviations(test, {"logits": self.LOGITS + np.float32(0.5e-4) * spread}, FP32, {})
        assert found.passed
        (found,) = deviations(test, {"logits": self.LOGITS + np.float32(2e-4) * spread}, FP32, {})
        assert str(found).startswith("logits: off by 0.0002 of range, gate 0.0001 of range (4096 of 4096 values beyond")

    @pytest.mark.parametrize("gates", [FP32, INT8])
    def test_what_is_not_finite(self, gates: dict[str, float]) -> None:
        (found,) = compared({"logits": self.LOGITS}, {"logits": self.LOGITS * np.float32("nan")}, gates).values()
        assert not found.passed
        assert "NaN or infinity" in str(found)

    def test_another_shape_or_no_output(self) -> None:
        (found,) = compared({"logits": self.LOGITS}, {"logits": self.LOGITS[:, :19]}, FP32).values()
        assert str(found) == "logits: got shape [1, 19, 32, 40], expected [1, 20, 32, 40]"
        (found,) = compared({"logits": self.LOGITS}, {}, FP32).values()
        assert str(found) == "logits: is missing"


class TestRows:
    def outputs(self) -> dict[str, np.ndarray]:
        corners = CHANCE.uniform(0, 100, (1, 300, 2))
        boxes = np.concatenate([corners, corners + 20], axis=2).astype(np.float32)
        return {"boxes": boxes, "scores": CHANCE.random((1, 300, 3)).astype(np.float32)}

    @pytest.mark.parametrize("gates", [FP32, INT8])
    def test_their_order_says_nothing(self, gates: dict[str, float]) -> None:
        proved = self.outputs()
        order = CHANCE.permutation(300)
        found = compared(proved, {name: values[:, order] for name, values in proved.items()}, gates)
        assert all(one.passed and one.worst == 0 for one in found.values())

    def test_a_machine_that_moves_boxes(self) -> None:
        proved = self.outputs()
        found = compared(proved, proved | {"boxes": proved["boxes"] + np.float32(0.1)}, FP32)
        assert (found["boxes"].passed, found["scores"].passed) == (False, True)
        assert found["boxes"].worst == pytest.approx(0.1, rel=1e-3)


def test_pixels_count_where_pytorch_was_sure() -> None:
    proved = np.zeros((1, *SIZE), np.uint8)
    sure = np.ones(proved.shape, bool)
    sure[0, 0, :5] = False
    here = proved.copy()
    here[0, 0, :5] = 1
    test = kept({"label_map": proved}, sure)
    (found,) = deviations(test, {"label_map": here}, FP32, {})
    assert found.passed
    here[0, 1, 0] = 1
    (found,) = deviations(test, {"label_map": here}, FP32, {})
    assert "1 of 1275 pixels that PyTorch was sure of" in str(found)
    assert not found.passed


def test_a_task_of_ones_own_says_what_its_outputs_are() -> None:
    """By other names than the shipped tasks': objects as a set, and a label map."""
    roles = {
        "found": OutputRole.COUNT,
        "frames": OutputRole.BOXES,
        "sureness": OutputRole.SCORES,
        "kinds": OutputRole.LABELS,
        "joints": OutputRole.KEYPOINTS,
    }
    corners = np.arange(24, dtype=np.float32).reshape(1, 6, 4) * 10
    proved = {
        "found": np.array([6]),
        "frames": corners + np.array([0, 0, 5, 5], np.float32),
        "sureness": np.linspace(0.9, 0.4, 6, dtype=np.float32)[None],
        "kinds": np.arange(6)[None],
        "joints": np.concatenate([corners[..., :2], np.ones((1, 6, 1), np.float32)], axis=2)[:, :, None],
    }
    test = SelfTest.of(PACKED, {}, proved, roles)
    swapped = {name: values[:, ::-1] if name != "found" else values for name, values in proved.items()}
    assert {one.output: one.worst for one in deviations(test, swapped, FP32, {})} == {
        "boxes": 0,
        "scores": 0,
        "detections": 0,
        "keypoints": 0,
    }
    fewer = proved | {"found": np.array([5])}
    lost = {one.output: one for one in deviations(test, fewer, FP32, {})}["detections"]
    assert (lost.passed, lost.detail) == (False, "1 that were proved are missing, 0 are new")
    areas = CHANCE.integers(0, 4, (1, *SIZE)).astype(np.uint8)
    test = SelfTest.of(PACKED, {}, {"areas": areas}, {"areas": OutputRole.LABEL_MAP})
    (found,) = deviations(test, {"areas": (areas + 1) % 4}, FP32, {})
    assert str(found).startswith("areas: off by 1 of the pixels, gate 0")


def test_whole_numbers_without_a_role_are_compared_value_by_value() -> None:
    proved = {"count": np.array([3, 4])}
    assert compared(proved, proved, FP32)["count"].passed
    assert str(compared(proved, {"count": np.array([3, 5])}, FP32)["count"]).endswith("1 of 2 values)")


class TestDetections:
    proved: ClassVar[dict[str, np.ndarray]] = {
        "num_dets": np.array([40]),
        "boxes": np.arange(40, dtype=np.float32)[None, :, None] * 50 + np.array([0, 0, 20, 20], np.float32),
        "scores": np.array([[0.9] + [0.04] * 39], np.float32),
        "labels": np.zeros((1, 40), np.int64),
    }

    @pytest.mark.parametrize(("lost", "passes"), [(2, True), (3, False)])
    def test_few_of_weighted_scores_below_the_threshold_may_be_lost(self, lost: int, passes: bool) -> None:
        fewer = self.proved | {"num_dets": np.array([40 - lost])}
        outcomes = deviations(kept(self.proved), fewer, FP32, {"score": 0.05, "weighted": True})
        assert {one.output: one.passed for one in outcomes}["detections"] is passes

    def test_objects_are_compared_once_however_many_are_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = []
        monkeypatch.setattr(detections, "overlaps", lambda *sides: calls.append(sides) or overlaps(*sides))
        outcomes = compared(self.proved, self.proved | {"scores": self.proved["scores"] * np.float32(0.9)}, FP32)
        assert (outcomes["boxes"].worst, outcomes["scores"].passed) == (0, False)
        assert len(calls) == 1


def test_as_many_pairs_as_there_can_be() -> None:
    error = np.array([[0.1, 0.2, np.inf], [0.3, np.inf, np.inf], [np.inf, np.inf, 1.1]])
    assert pairs_within(error) == {0: 1, 1: 0}  # the nearest pair alone would leave one without


class TestImages:
    @pytest.mark.parametrize("size", [(256, 320), (800, 1088)])
    def test_any_image_becomes_small(self, size: tuple[int, int]) -> None:
        noise = CHANCE.integers(0, 256, (*size, 3)).astype(np.uint8)
        png = reduced(noise)
        assert png.size <= MOST_BYTES
        assert np.array_equal(png, reduced(noise))
        tensor = tensor_of(png, 2, size)
        assert (tensor.shape, tensor.dtype) == ((2, 3, *size), np.float32)
        assert np.array_equal(np.rint(tensor * 255) / np.float32(255), tensor)

    def test_what_is_small_enough_stays_as_it_is(self) -> None:
        image = cv2.GaussianBlur(CHANCE.integers(0, 256, (*SIZE, 3)).astype(np.uint8), (7, 7), 3)
        restored = tensor_of(reduced(image), 1, SIZE)[0].transpose(1, 2, 0)[..., ::-1]
        assert np.array_equal(np.rint(restored * 255).astype(np.uint8), image)

    def test_enlarging_is_the_same_on_every_machine(self) -> None:
        small = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3) * 10
        assert enlarged(small, (4, 5))[:, :, 0].tolist() == [
            [0, 12, 30, 48, 60],
            [23, 34, 53, 71, 83],
            [68, 79, 98, 116, 128],
            [90, 102, 120, 138, 150],
        ]
