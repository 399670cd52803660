"""The padded RotatedFCOS against the unpatched model: eagerly and in ONNX Runtime, in every convention of the angle."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import rewriters.rotated_fcos  # noqa: F401  # registers what a test takes away
from pipeline.parity.gates import merged_gates
from pipeline.parity.levels import compare_outputs
from rewriters import rewriting
from rewriters.family_rewriters import import_rewriters
from tests.examples import examples
from tests.rewriters.small_families import outputs
from tests.rewriters.small_models import detection_specs, export, fixed_target, run, without_rewriter
from tests.rewriters.small_rotated_fcos import CLASSES, SIZE, SLOTS, contract, rotated_task, small_rotated_fcos
from tests.rewriters.small_yolov5 import scenes
from zoo.errors import ExportError, InputError
from zoo.families import family_of
from zoo.geometry.rotated_boxes import CONVENTIONS
from zoo.models.detection.rotated_fcos import RotatedFCOS
from zoo.target import AxisRange, Target
from zoo.tasks.contract import Contract
from zoo.tensor_spec import TensorSpec

REWRITER = "zoo.RotatedFCOS.postprocess_detections"
DYNAMIC = Target({"height": AxisRange(32, 64, 160), "width": AxisRange(32, 96, 160)})
FINAL = detection_specs(SLOTS, columns=5)
SPECS = {
    "final": FINAL,
    "decoded": [
        TensorSpec("boxes", "float32", ("batch", "M", 5)),
        TensorSpec("scores", "float32", ("batch", "M", CLASSES)),
    ],
    "raw": [
        TensorSpec(name, "float32", ("batch", "M", size))
        for name, size in (("cls_logits", CLASSES), ("distances", 4), ("angles", 1), ("centerness", 1))
    ],
}


@examples(2, 12)
@given(
    height=st.integers(1, 4).map(lambda cells: 32 * cells),
    width=st.integers(1, 4).map(lambda cells: 32 * cells),
    count=st.integers(1, 3),
    angle=st.sampled_from(CONVENTIONS),
    dynamic=st.booleans(),
    seed=st.integers(0, 50),
)
def test_padded_equals_unpatched(height: int, width: int, count: int, angle: str, dynamic: bool, seed: int) -> None:
    module = contract(small_rotated_fcos(), angle=angle)
    images = scenes(count, height, width, seed)
    expected = outputs(module, images)
    import_rewriters(module)
    with rewriting(DYNAMIC if dynamic else fixed_target(height, width), eager=True) as session:
        padded = outputs(module, images)
    assert session.hits[REWRITER] == 1
    same(module, "final", expected, padded, angle, boxes=1e-4, scores=1e-6)


class TestOfTheModel:
    """Else the comparisons of this file would compare nothing."""

    def test_something_is_found_and_something_is_empty(self) -> None:
        num_dets, boxes, _, labels = outputs(contract(small_rotated_fcos()), scenes(4, *SIZE))
        assert num_dets.min() >= 5
        assert num_dets.min() < SLOTS
        assert len(labels.unique()) > 2
        assert boxes[..., 4][labels >= 0].std() > 0.5  # radians

    @pytest.mark.slow
    def test_limits_matter(self) -> None:
        images = scenes(4, *SIZE)
        counts = outputs(contract(small_rotated_fcos()), images)[0]
        assert (outputs(contract(small_rotated_fcos(topk_candidates=5)), images)[0] < counts).any()
        assert (outputs(contract(small_rotated_fcos(nms_thresh=1.0)), images)[0] > counts).any()

    @pytest.mark.slow
    def test_conventions_matter(self) -> None:
        images = scenes(2, *SIZE)
        boxes = [outputs(contract(small_rotated_fcos(), angle=angle), images)[1] for angle in CONVENTIONS]
        assert not torch.equal(boxes[0], boxes[1])
        assert not torch.equal(boxes[0], boxes[2])


@pytest.mark.parametrize("options", [{"score_thresh": 1.1}, {"detections_per_img": 5}, {"topk_candidates": 4}])
def test_empty_full_and_unfilled_slots(options: dict[str, Any]) -> None:
    module = contract(small_rotated_fcos(**options))
    images = scenes(2, *SIZE)
    expected = outputs(module, images)
    import_rewriters(module)
    with rewriting(fixed_target(*SIZE), eager=True):
        padded = outputs(module, images)
    for one, other in zip(padded, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("level", "exporter"),
    [
        pytest.param(level, exporter, marks=() if (level, exporter) == ("final", "torchscript") else pytest.mark.slow)
        for exporter in ("torchscript", "dynamo")
        for level in SPECS
    ],
)
def test_onnxruntime_equals_unpatched_at_any_size_and_batch(exporter: str, level: str, tmp_path: Path) -> None:
    module = contract(small_rotated_fcos(), level)
    required = [REWRITER] if level == "final" else []
    target = DYNAMIC.with_(exporter=exporter, level=level)
    export(module, target, tmp_path / "m.onnx", SPECS[level], required_rewriters=required)
    for count, height, width in ((1, 64, 96), (3, 128, 96), (2, 160, 64)):
        same_outputs(module, level, tmp_path / "m.onnx", scenes(count, height, width, seed=7))


@pytest.mark.parametrize("angle", [pytest.param(angle, marks=pytest.mark.slow) for angle in CONVENTIONS])
@pytest.mark.parametrize("exporter", ["torchscript", "dynamo"])
def test_a_fixed_size_and_batch(exporter: str, angle: str, tmp_path: Path) -> None:
    module = contract(small_rotated_fcos(), angle=angle)
    target = fixed_target(*SIZE, exporter=exporter, batch=AxisRange.fixed(2))
    specs = [TensorSpec(spec.name, spec.dtype, (2, *spec.shape[1:])) for spec in FINAL]
    export(module, target, tmp_path / "m.onnx", specs, required_rewriters=[REWRITER])
    same_outputs(module, "final", tmp_path / "m.onnx", scenes(2, *SIZE, seed=3), angle)
    assert {entry.domain for entry in onnx.load(tmp_path / "m.onnx").opset_import} == {""}


def same_outputs(module: Contract, level: str, path: Path, images: Tensor, angle: str = "le90") -> None:
    """Within the gates of a deployment: how CPUs order their sums decides how much of a gate is used."""
    same(module, level, outputs(module, images), [torch.from_numpy(array) for array in run(path, images)], angle)


def same(
    module: Contract, level: str, expected: Sequence[Tensor], actual: Sequence[Tensor], angle: str, **gates: float
) -> None:
    """Detections are compared as sets."""
    names = [spec.name for spec in SPECS[level]]
    want, got = (dict(zip(names, [tensor.numpy() for tensor in side], strict=True)) for side in (expected, actual))
    every = merged_gates({})["graph"] | gates
    rule = family_of(module.model).decision_rule(module.model)
    findings = compare_outputs(rotated_task(angle), level, want, got, every, rule)
    assert not findings.failures
    assert not findings.borderline
    assert findings.matched


# Rule 6, seen with torch 2.15.
@pytest.mark.slow
def test_without_it_dynamo_refuses_the_model(tmp_path: Path) -> None:
    with without_rewriter(REWRITER), pytest.raises(ExportError, match="dynamo exporter refused the model"):
        export(contract(small_rotated_fcos()), fixed_target(*SIZE), tmp_path / "m.onnx", FINAL)


@pytest.mark.parametrize("method", ["postprocess_detections", "_suppressed"])
def test_a_subclass_with_its_own_method_is_refused(method: str, tmp_path: Path) -> None:
    model = small_rotated_fcos()
    model.__class__ = type("Own", (RotatedFCOS,), {method: getattr(RotatedFCOS, method)})
    with pytest.raises(ExportError, match=f"Own overrides RotatedFCOS.{method}"):
        export(contract(model), fixed_target(*SIZE), tmp_path / "m.onnx", FINAL)


def test_image_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="image_sizes with RotatedFCOS: it takes a batch of one size"):
        contract(small_rotated_fcos())(torch.rand(1, 3, *SIZE), torch.tensor([[32, 32]]))
