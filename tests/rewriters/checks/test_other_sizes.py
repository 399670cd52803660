"""A graph that is wrong at another size does not leave export_onnx, and the error names the axis.

The models have the faults that were seen in transformers' Mask2Former, OneFormer, Deformable DETR and Depth Anything.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rewriters import ExportRecord, export_onnx
from rewriters.checks.resized_example import at_sizes, second_sizes
from rewriters.checks.same_outputs import disagreement
from zoo.errors import ExportError
from zoo.target import AxisRange, Target
from zoo.tensor_spec import TensorSpec

SIDE = AxisRange(16, 32, 64)
MAP = (TensorSpec("y", "float32", ("batch", 4, "rows", "columns")),)
VECTOR = (TensorSpec("y", "float32", ("batch", 3)),)


def exported(model: nn.Module, folder: Path, specs: Any = MAP, options: Any = None, **axes: Any) -> ExportRecord:
    target = Target({"height": SIDE, "width": SIDE}, exporter="torchscript").with_(**axes)
    images = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    path = folder / "m.onnx"
    return export_onnx(model.eval(), target, path, example={"images": images}, output_specs=specs, **(options or {}))


class Patches(nn.Module):
    """A right model."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.patches = nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, images: Tensor) -> Tensor:
        result: Tensor = self.patches(images)
        return result


class ListOfImages(Patches):
    """A Python list of N entries."""

    def forward(self, images: Tensor) -> Tensor:
        return torch.stack([self.patches(image[None])[0] for image in images])


class TracedPositions(Patches):
    """A positional embedding interpolated to the traced size, which fits no other."""

    def __init__(self) -> None:
        super().__init__()
        self.positions = nn.Parameter(torch.rand(1, 4, 5, 5))

    def forward(self, images: Tensor) -> Tensor:
        features = self.patches(images)
        size = (int(features.shape[2]), int(features.shape[3]))
        return features + F.interpolate(self.positions, size, mode="bicubic")


class TracedWidth(Patches):
    """A number taken from a shape: nothing fails at another size, and every value is wrong there."""

    def forward(self, images: Tensor) -> Tensor:
        return super().forward(images) / int(images.shape[3])


class TracedOutput(Patches):
    """Its output keeps the traced height."""

    def forward(self, images: Tensor) -> Tensor:
        return F.interpolate(super().forward(images), (int(images.shape[2]) // 2, images.shape[3]))


class OneHeight(Patches):
    def forward(self, images: Tensor) -> Tensor:
        if int(images.shape[2]) != 32:
            raise ValueError("only images of 32 rows")
        return super().forward(images)


class Multiples(Patches):
    """Takes multiples of 16 alone, and does not say so."""

    def forward(self, images: Tensor) -> Tensor:
        if int(images.shape[2]) % 16 or int(images.shape[3]) % 16:
            raise ValueError("only multiples of 16")
        return super().forward(images) / int(images.shape[3])


class Chaos(nn.Module):
    """The last bits of what it computes decide, at every size."""

    def forward(self, images: Tensor) -> Tensor:
        return torch.sin((images.exp() * images.sqrt()).sum(dim=(2, 3)) * 1e7)


def test_a_right_model_passes(tmp_path: Path) -> None:
    record = exported(Patches(), tmp_path)
    assert not [warning for warning in record.warnings if "dynamic" in warning or "not checked" in warning]


@pytest.mark.parametrize(
    ("model", "axis"),
    [
        (ListOfImages(), "batch 1 .batch 2 was traced"),
        (TracedPositions(), "height 43 .height 32 was traced"),
        (TracedWidth(), "width 43 .width 32 was traced"),
        (TracedOutput(), "height 43 .height 32 was traced"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_a_frozen_size_is_refused_with_the_axis(model: nn.Module, axis: str, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=f"the graph is wrong at {axis}") as refusal:
        exported(model, tmp_path)
    assert refusal.value.exit_code == 5
    assert not list(tmp_path.iterdir())


def test_an_axis_that_is_fixed_is_not_tried(tmp_path: Path) -> None:
    exported(TracedWidth(), tmp_path, width=AxisRange.fixed(32))


def test_a_caller_that_compares_itself_may_leave_it_out(tmp_path: Path) -> None:
    exported(TracedWidth(), tmp_path, options={"other_sizes": False})
    assert (tmp_path / "m.onnx").is_file()


def test_a_size_that_pytorch_itself_refuses_is_reported(tmp_path: Path) -> None:
    record = exported(OneHeight(), tmp_path)
    (line,) = (warning for warning in record.warnings if "PyTorch itself fails" in warning)
    assert line.startswith("height is dynamic (16 to 64)")
    assert "ValueError: only images of 32 rows" in line


def test_one_axis_that_cannot_be_tried_does_not_hide_another(tmp_path: Path) -> None:
    class OneHeightAndTracedWidth(OneHeight):
        def forward(self, images: Tensor) -> Tensor:
            return super().forward(images) / int(images.shape[3])

    with pytest.raises(ExportError, match="wrong at width"):
        exported(OneHeightAndTracedWidth(), tmp_path)


def test_a_model_that_refuses_odd_sizes_is_tried_at_multiples(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"wrong at width 64"):
        exported(Multiples(), tmp_path)


class OneNumber(Patches):
    """For each image one number, far from 0: rounding is not small beside the range of a batch of one."""

    def forward(self, images: Tensor) -> Tensor:
        return 1e4 * super().forward(images).mean(dim=(1, 2, 3))[:, None]


def test_one_number_for_each_image_is_judged_by_its_size(tmp_path: Path) -> None:
    specs = (TensorSpec("y", "float32", ("batch", 1)),)
    record = exported(OneNumber(), tmp_path, specs, batch=AxisRange(1, 2, 8))
    assert not any("size" in warning for warning in record.warnings)
    value = np.array([[2e3]], np.float32)
    assert disagreement(["y"], [value], [value + np.float32(0.02)]) is None
    assert disagreement(["y"], [value], [value + np.float32(2)]) is not None


def test_numbers_that_differ_at_the_examples_own_size_prove_nothing_and_that_is_said(tmp_path: Path) -> None:
    record = exported(Chaos(), tmp_path, VECTOR)
    assert any("differs at the example's own size already" in warning for warning in record.warnings)


class Metas(Patches):
    """As adapters of mmdetection do: a list with an entry for each image, of which only the number counts."""

    def forward(self, images: Tensor) -> Tensor:
        metas = [None for _ in range(images.shape[0])]
        return super().forward(images) * len(metas)


@pytest.mark.slow
def test_what_dynamo_freezes_without_a_word(tmp_path: Path) -> None:
    exported(Patches(), tmp_path, exporter="dynamo")
    with pytest.raises(ExportError, match="batch"):
        exported(Metas(), tmp_path, exporter="dynamo")


class TestSecondInputs:
    def test_sizes(self) -> None:
        target = Target({"batch": AxisRange(2, 2, 4), "height": AxisRange(32, 64, 96), "width": AxisRange.fixed(64)})
        example = {"images": torch.zeros(2, 3, 64, 64)}
        assert second_sizes(target, "batch", example, nn.Identity()) == [3, 4]
        assert second_sizes(target, "height", example, nn.Identity())[:2] == [83, 96]
        strided = nn.Identity()
        strided.size_divisor = 16
        assert second_sizes(target, "height", example, strided)[0] == 96

    def test_all_inputs_follow(self) -> None:
        example = {
            "images": torch.rand(2, 3, 20, 30),
            "image_sizes": torch.tensor([[20, 30], [10, 15]]),
            "scale": torch.tensor([3]),
            "depth": torch.rand(2, 1, 20, 30),
        }
        inputs = at_sizes(example, {"batch": 3, "height": 40})
        assert inputs["images"].shape == (3, 3, 40, 30)
        assert inputs["image_sizes"].tolist() == [[40, 30], [20, 15], [40, 30]]
        assert inputs["scale"].tolist() == [3]
        assert inputs["depth"].shape == (3, 1, 40, 30)


class TestRows:
    """Boxes, scores and labels of 100 slots."""

    def rows(self) -> list[Any]:
        chance = np.random.default_rng(0)
        boxes = chance.random((2, 100, 4), np.float32)
        return [np.array([100, 100]), boxes, chance.random((2, 100), np.float32), chance.integers(0, 9, (2, 100))]

    def changed(self, rows: int, by: float) -> list[Any]:
        count, boxes, scores, labels = self.rows()
        boxes[0, :rows] += by
        return [count, boxes.astype(np.float32), scores, labels]

    names = ("num_dets", "boxes", "scores", "labels")

    def test_two_that_swapped_places(self) -> None:
        order = [1, 0, *range(2, 100)]
        count, *tables = self.rows()
        assert disagreement(self.names, self.rows(), [count, *(table[:, order] for table in tables)]) is None

    def test_two_of_a_hundred_near_a_threshold(self) -> None:
        assert disagreement(self.names, self.rows(), self.changed(2, 0.3)) is None

    def test_more(self) -> None:
        found = disagreement(self.names, self.rows(), self.changed(3, 0.3))
        assert found is not None
        assert "output boxes differs by" in found

    @pytest.mark.parametrize(("counts", "same"), [([98, 100], True), ([97, 100], False), ([0, 0], False)])
    def test_their_number_differs_by_those_near_a_threshold(self, counts: list[int], same: bool) -> None:
        _, *tables = self.changed(2, 0.3)
        assert (disagreement(self.names, self.rows(), [np.array(counts), *tables]) is None) is same

    @pytest.mark.parametrize(("objects", "lost", "same"), [(1, 1, False), (2, 2, False), (2, 1, False), (50, 1, True)])
    def test_empty_slots_spare_no_object(self, objects: int, lost: int, same: bool) -> None:
        """Of two images the other one has all its slots filled."""

        def padded(filled: int) -> list[Any]:
            _, boxes, scores, labels = self.rows()
            boxes[0, filled:], scores[0, filled:], labels[0, filled:] = 0, 0, -1
            return [np.array([filled, 100]), boxes, scores, labels]

        got = padded(objects - lost)
        assert (disagreement(self.names, padded(objects), got) is None) is same
        assert (disagreement(self.names, got, padded(objects)) is None) is same

    def test_one_number_for_each_image_beside_them(self) -> None:
        _, *tables = self.changed(2, 0.3)
        scores = np.array([0.5, 0.7], np.float32)
        names = ("quality", *self.names[1:])
        assert disagreement(names, [scores, *self.rows()[1:]], [scores, *tables]) is None
        assert disagreement(names, [scores, *self.rows()[1:]], [scores[::-1], *tables]) is not None

    def test_nan_is_not_0(self) -> None:
        want, got = self.rows(), self.rows()
        want[1][0, :5], got[1][0, :5] = 0, np.nan
        assert disagreement(self.names, want, got) is not None
        order = [1, 0, *range(2, 100)]
        assert disagreement(self.names, got, [got[0], *(table[:, order] for table in got[1:])]) is None

    def test_one_tensor_alone_has_no_rows(self) -> None:
        want = self.rows()[1]
        assert disagreement(["logits"], [want], [want[:, ::-1]]) is not None

    def test_without_labels_by_scores_that_come_best_first(self) -> None:
        """As of a detector of faces. Before a choice is made, each box has its own place."""
        _, boxes, scores, _ = self.rows()
        order = [1, 0, *range(2, 100)]
        for want, same in ((-np.sort(-scores, axis=1), True), (scores, False)):
            found = disagreement(("boxes", "scores"), [boxes, want], [boxes[:, order], want[:, order]])
            assert (found is None) is same

    def test_empty_slots_and_an_axis_of_one_number(self) -> None:
        _, boxes, scores, _ = self.rows()
        want = -np.sort(-scores, axis=1)
        want[:, 90:] = -np.inf
        order = [1, 0, *range(2, 100)]
        for table in (want, want[..., np.newaxis]):
            assert disagreement(("boxes", "scores"), [boxes, table], [boxes[:, order], table[:, order]]) is None

    def test_a_strip_of_a_map_is_no_row_near_a_threshold(self) -> None:
        depth, confidence = (np.random.default_rng(0).random((1, 480, 64), np.float32) for _ in range(2))
        wrong = depth.copy()
        wrong[:, -9:] += 5
        assert disagreement(("depth", "confidence"), [depth, confidence], [wrong, confidence]) is not None

    def test_one_of_the_five_best_classes(self) -> None:
        scores, labels = np.array([[0.9, 0.05, 0.03, 0.01, 0.005]], np.float32), np.array([[7, 3, 1, 4, 5]])
        wrong = labels.copy()
        wrong[0, 0] = 2
        assert disagreement(("scores", "labels"), [scores, labels], [scores, labels]) is None
        assert disagreement(("scores", "labels"), [scores, labels], [scores, wrong]) is not None

    @pytest.mark.parametrize("instead", [np.nan, np.inf])
    def test_what_is_not_finite_is_the_same_in_kind(self, instead: float) -> None:
        want = np.array([[1.0, -np.inf, 3.0]], np.float32)
        got = np.array([[1.0, instead, 3.0]], np.float32)
        assert disagreement(["logits"], [want], [want]) is None
        assert disagreement(["logits"], [want], [got]) is not None

    def test_labels_of_pixels(self) -> None:
        want = np.zeros((1, 100, 100), np.uint8)
        near, far = want.copy(), want.copy()
        near[0, 0, :90], far[0, :3] = 1, 1
        assert disagreement(["label_map"], [want], [near]) is None
        assert disagreement(["label_map"], [want], [far]) is not None


@pytest.mark.parametrize("shape", [(1, 1, 8, 8), (2, 1), (1, 2)])
def test_outputs_of_one_or_two_rows_have_none_to_spare(shape: tuple[int, ...]) -> None:
    """As maps of depth and of confidence: a whole map that is wrong is no row near a threshold."""
    want = [np.ones(shape, np.float32), np.arange(np.prod(shape), dtype=np.float32).reshape(shape)]
    wrong = [want[0], want[1] + 5]
    assert disagreement(("depth", "confidence"), want, want) is None
    assert disagreement(("depth", "confidence"), want, wrong) is not None
