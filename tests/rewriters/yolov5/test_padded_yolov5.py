"""The padded YOLOv5 against the unpatched model: eagerly and in ONNX Runtime."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from pipeline.parity.gates import merged_gates
from pipeline.parity.levels import compare_outputs
from rewriters import rewriting
from rewriters.family_rewriters import import_rewriters
from tests.examples import examples
from tests.rewriters.small_families import outputs
from tests.rewriters.small_models import detection_specs, export, fixed_target, run, without_rewriter
from tests.rewriters.small_yolov5 import CLASSES, SIZE, SLOTS, contract, scenes, small_yolov5
from tests.small_tasks import small_task
from zoo.errors import ExportError
from zoo.families import family_of
from zoo.models.detection.yolov5 import YOLOv5
from zoo.target import AxisRange, Target
from zoo.tasks.contract import Contract
from zoo.tensor_spec import TensorSpec

REWRITER = "zoo.YOLOv5.postprocess_detections"
DYNAMIC = Target({"height": AxisRange(32, 64, 160), "width": AxisRange(32, 96, 160)})
SPECS = {
    "final": detection_specs(SLOTS),
    "decoded": [TensorSpec("boxes", "float32", ("batch", "M", 4)), TensorSpec("scores", "float32", ("batch", "M", 3))],
    "raw": [TensorSpec(f"p{i}", "float32", ("batch", 24, f"h{i}", f"w{i}")) for i in (3, 4, 5)],
}


@examples(4, 12)
@given(
    height=st.integers(1, 5).map(lambda cells: 32 * cells),
    width=st.integers(1, 5).map(lambda cells: 32 * cells),
    count=st.integers(1, 3),
    agnostic=st.booleans(),
    dynamic=st.booleans(),
    seed=st.integers(0, 50),
)
def test_padded_equals_unpatched(height: int, width: int, count: int, agnostic: bool, dynamic: bool, seed: int) -> None:
    module = contract(small_yolov5(class_agnostic=agnostic))
    images = scenes(count, height, width, seed)
    expected = outputs(module, images)
    import_rewriters(module)
    with rewriting(DYNAMIC if dynamic else fixed_target(height, width), eager=True) as session:
        padded = outputs(module, images)
    assert session.hits[REWRITER] == 1
    # torchvision's batched_nms rounds boxes by its offsets: an overlap within that of the threshold decides otherwise
    same(module, "final", expected, padded, boxes=0.0, scores=0.0, borderline=1)


class TestOfTheModel:
    """Else the comparisons of this file would compare nothing."""

    def test_something_is_found_and_something_is_empty(self) -> None:
        num_dets, *_, labels = outputs(contract(small_yolov5()), scenes(4, *SIZE))
        assert num_dets.min() >= 10
        assert num_dets.min() < SLOTS
        assert len(labels.unique()) == CLASSES + 1

    @pytest.mark.slow
    def test_classes_and_limits_matter(self) -> None:
        images = scenes(4, *SIZE)
        found = outputs(contract(small_yolov5()), images)[0]
        assert (outputs(contract(small_yolov5(class_agnostic=True)), images)[0] < found).any()
        assert (outputs(contract(small_yolov5(topk_candidates=20)), images)[0] < found).any()
        assert (outputs(contract(small_yolov5(nms_thresh=1.0)), images)[0] > found).any()


@pytest.mark.parametrize("options", [{"score_thresh": 1.1}, {"detections_per_img": 5}, {"topk_candidates": 4}])
def test_empty_full_and_unfilled_slots(options: dict[str, Any]) -> None:
    module = contract(small_yolov5(**options))
    images = scenes(2, *SIZE)
    expected = outputs(module, images)
    with rewriting(fixed_target(*SIZE), eager=True):
        padded = outputs(module, images)
    for got, want in zip(padded, expected, strict=True):
        assert torch.equal(got, want)


@pytest.mark.parametrize(
    ("level", "exporter"),
    [
        pytest.param(level, exporter, marks=() if (level, exporter) == ("final", "torchscript") else pytest.mark.slow)
        for exporter in ("torchscript", "dynamo")
        for level in SPECS
    ],
)
def test_onnxruntime_equals_unpatched_at_any_size_and_batch(exporter: str, level: str, tmp_path: Path) -> None:
    module = contract(small_yolov5(), level)
    required = [REWRITER] if level == "final" else []
    target = DYNAMIC.with_(exporter=exporter, level=level)
    export(module, target, tmp_path / "m.onnx", SPECS[level], required_rewriters=required)
    for count, height, width in ((1, 64, 96), (3, 128, 96), (2, 160, 64)):
        same_outputs(module, level, tmp_path / "m.onnx", scenes(count, height, width, seed=7))


@pytest.mark.slow  # make test has any size and batch above
@pytest.mark.parametrize("exporter", ["torchscript", "dynamo"])
def test_a_fixed_size_and_batch(exporter: str, tmp_path: Path) -> None:
    module = contract(small_yolov5(class_agnostic=True))
    target = fixed_target(*SIZE, exporter=exporter, batch=AxisRange.fixed(2))
    export(module, target, tmp_path / "m.onnx", detection_specs(SLOTS, 2), required_rewriters=[REWRITER])
    same_outputs(module, "final", tmp_path / "m.onnx", scenes(2, *SIZE, seed=3))
    assert sum(node.op_type == "NonMaxSuppression" for node in onnx.load(tmp_path / "m.onnx").graph.node) == 1


def same_outputs(module: Contract, level: str, path: Path, images: Tensor) -> None:
    """Within the gates of a deployment: how CPUs order their sums decides how much of a gate is used."""
    same(module, level, outputs(module, images), [torch.from_numpy(array) for array in run(path, images)])


def same(
    module: Contract,
    level: str,
    expected: Sequence[Tensor],
    found: Sequence[Tensor],
    borderline: int = 0,
    **gates: float,
) -> None:
    """Detections are compared as sets."""
    names = [spec.name for spec in SPECS[level]]
    want, got = (dict(zip(names, [tensor.numpy() for tensor in side], strict=True)) for side in (expected, found))
    every = merged_gates({})["graph"] | gates
    findings = compare_outputs(
        small_task("detection"), level, want, got, every, family_of(module.model).decision_rule(module.model)
    )
    assert not findings.failures
    assert len(findings.borderline) <= borderline


# Rule 6, seen with torch 2.15.
@pytest.mark.slow
def test_without_it_dynamo_refuses_the_model(tmp_path: Path) -> None:
    with without_rewriter(REWRITER), pytest.raises(ExportError, match="dynamo exporter refused the model"):
        export(contract(small_yolov5()), fixed_target(*SIZE), tmp_path / "m.onnx", detection_specs(SLOTS))


@pytest.mark.slow
def test_without_it_torchscript_freezes_the_batch(tmp_path: Path) -> None:
    target = fixed_target(*SIZE, exporter="torchscript")
    with without_rewriter(REWRITER):
        export(contract(small_yolov5()), target, tmp_path / "m.onnx", detection_specs(SLOTS), other_sizes=False)
    with pytest.raises(Exception, match="Split"):  # ONNX Runtime's own class
        run(tmp_path / "m.onnx", scenes(3, *SIZE))


@pytest.mark.parametrize("method", ["postprocess_detections", "_suppressed"])
def test_a_subclass_with_its_own_method_is_refused(method: str, tmp_path: Path) -> None:
    model = small_yolov5()
    model.__class__ = type("Own", (YOLOv5,), {method: getattr(YOLOv5, method)})
    with pytest.raises(ExportError, match=f"Own overrides YOLOv5.{method}"):
        export(contract(model), fixed_target(*SIZE), tmp_path / "m.onnx", detection_specs(SLOTS))
