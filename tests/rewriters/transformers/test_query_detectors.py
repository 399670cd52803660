"""Query detectors of transformers, exported: PyTorch's detections at every batch and size, by the project's gates."""

import functools
import tempfile
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch

from pipeline.export.output_specs import output_specs
from pipeline.parity.gates import merged_gates
from pipeline.parity.graph_inputs import GraphInput
from pipeline.parity.graph_parity import graph_references
from pipeline.parity.levels import compare_outputs
from rewriters import export_onnx
from tests.rewriters.segmentor_graphs import opened
from tests.rewriters.small_families import sample_images
from tests.rewriters.small_models import without_rewriter
from tests.rewriters.tensorrt.rtx_engine import needs_rtx, rtx_engine
from tests.small_query_detectors import CLASSES, SETTINGS, save
from zoo.checkpoint import load_checkpoint
from zoo.errors import ExportError
from zoo.families import contract_module, family_of
from zoo.target import AxisRange, Target
from zoo.tasks import build_task
from zoo.tasks.contract import Contract

pytestmark = pytest.mark.libraries
pytest.importorskip("transformers", reason="the models of these tests are transformers'")

TASK = build_task({"type": "Detection", "classes": [{"name": str(i), "category_id": i} for i in range(CLASSES)]})
BATCH = {"batch": AxisRange(1, 2, 4)}
FIXED = {"height": AxisRange.fixed(64), "width": AxisRange.fixed(96)}
DYNAMIC = {"height": AxisRange(64, 64, 160), "width": AxisRange(64, 96, 160)}
ANY_SIZE_BY_DYNAMO = ("detr", "conditional_detr", "rt_detr", "rt_detr_v2", "d_fine")
SHAPES = [(1, 64, 96), (3, 64, 96), (2, 128, 160)]


@functools.cache
def detector(name: str) -> Any:
    from zoo.models.transformers.query_detectors import TransformersDetector

    with tempfile.TemporaryDirectory() as folder:
        save(name, Path(folder))
        model = TransformersDetector(folder)
        load_checkpoint(model, Path(folder) / "model.safetensors")
    return model.eval()


def exported(name: str, path: Path, target: Target) -> tuple[Contract, set[str]]:
    """The contract and the names of the rewriters that acted; the graph lies at the path."""
    model, images = detector(name), sample_images(2)
    contract = contract_module(model, TASK, target.level, {})
    references = graph_references(model, TASK, target.level, {}, [GraphInput((), {"images": images.numpy()})])
    record = export_onnx(
        contract,
        target,
        path,
        example={"images": images},
        output_specs=output_specs(contract.outputs(TASK, target.level), target, references),
        other_sizes=False,
    )
    return contract, {fired.name for fired in record.rewriters}


def check(
    contract: Contract, path: Path, level: str, shapes: list[tuple[int, int, int]], backend: str = "onnxruntime"
) -> None:
    names = [spec.name for spec in contract.outputs(TASK, level)]
    with opened(path, backend) as runner:
        for number, (count, height, width) in enumerate(shapes):
            images = sample_images(count, height, width, seed=number)
            with torch.no_grad():
                expected = dict(zip(names, [tensor.numpy() for tensor in contract(images)], strict=True))
            got = runner.run({"images": images.numpy()})
            rule = family_of(contract.model).decision_rule(contract.model)
            findings = compare_outputs(TASK, level, expected, got, merged_gates({})["graph"], rule)
            assert not findings.failures, (count, height, width)
            assert findings.matched
            assert len(findings.borderline) <= 1


def operators(path: Path) -> Counter[str]:
    return Counter(node.op_type for node in onnx.load(path).graph.node)


@pytest.mark.parametrize("name", SETTINGS)
def test_torchscript_is_right_at_every_batch_and_size(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    contract, _ = exported(name, path, Target({**BATCH, **DYNAMIC}, exporter="torchscript"))
    check(contract, path, "final", SHAPES)


@pytest.mark.parametrize(
    ("name", "level"),
    [
        pytest.param(name, level, marks=() if name in ("rt_detr_v2", "detr") else pytest.mark.slow)
        for name in SETTINGS
        for level in ("decoded", "raw")
    ],
)
def test_other_levels(name: str, level: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    contract, _ = exported(name, path, Target({**BATCH, **DYNAMIC}, exporter="torchscript", level=level))
    check(contract, path, level, SHAPES)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_dynamo_is_right_at_every_batch(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    contract, _ = exported(name, path, Target({**BATCH, **FIXED}, exporter="dynamo"))
    check(contract, path, "final", SHAPES[:2])


@pytest.mark.slow
@pytest.mark.parametrize("name", ANY_SIZE_BY_DYNAMO)
def test_dynamo_is_right_at_every_size(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    contract, _ = exported(name, path, Target({**BATCH, **DYNAMIC}, exporter="dynamo"))
    check(contract, path, "final", [*SHAPES, (1, 96, 64), (1, 160, 160)])


@pytest.mark.parametrize("name", [name for name in SETTINGS if name not in ANY_SIZE_BY_DYNAMO])
def test_dynamo_refuses_the_others_at_a_dynamic_size(name: str, tmp_path: Path) -> None:
    words = (
        "ForObjectDetection by dynamo needs a fixed height and width, and the target has a dynamic height and width: .*"
        "; give --exporter torchscript, or one size: preprocess.size="
    )
    with pytest.raises(ExportError, match=words) as refusal:
        exported(name, tmp_path / "model.onnx", Target({**BATCH, **DYNAMIC}, exporter="dynamo"))
    assert "\n" not in str(refusal.value)
    assert not getattr(refusal.value, "__notes__", ())  # nothing to report: the refusal is meant


@pytest.mark.parametrize("name", ["rt_detr_v2", "d_fine", "deformable_detr_two_stage"])
def test_tensorrts_graph_gathers_once_for_each_attention(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    target = Target({**BATCH, **FIXED}, exporter="torchscript", backend="tensorrt-rtx")
    contract, _ = exported(name, path, target)
    layers = detector(name).model.config.decoder_layers
    layers += detector(name).model.config.encoder_layers if name.startswith("deformable") else 0
    assert "GridSample" not in operators(path)
    assert operators(path)["GatherND"] == layers
    check(contract, path, "final", SHAPES[:2])


def test_which_rewriters_act(tmp_path: Path) -> None:
    target = Target({**BATCH, **DYNAMIC}, exporter="torchscript")
    _, names = exported("deformable_detr", tmp_path / "model.onnx", target)
    assert {
        "torch.as_tensor",
        "torch.linspace",
        "transformers.MultiScaleDeformableAttention.forward",
        "transformers.utils.import_utils.torch_compilable_check",
        "zoo.TransformersDetector.by_image",
    } <= names


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "rt_detr_v2" else pytest.mark.slow) for name in SETTINGS]
)
def test_openvino_is_right_at_every_batch_and_size(name: str, tmp_path: Path) -> None:
    pytest.importorskip("openvino", reason="runs the graph in OpenVINO")
    path = tmp_path / "model.onnx"
    target = Target({**BATCH, **DYNAMIC}, exporter="torchscript", backend="openvino")
    contract, _ = exported(name, path, target)
    check(contract, path, "final", SHAPES, "openvino")


@pytest.mark.slow
def test_needed_without_it_dynamo_refuses_the_check_of_sizes(tmp_path: Path) -> None:
    target = Target({**BATCH, **FIXED}, exporter="dynamo")
    import_module("rewriters.transformers")  # which an export would import, too late
    with (
        without_rewriter("transformers.utils.import_utils.torch_compilable_check"),
        pytest.raises(ExportError, match="_is_all_true"),
    ):
        exported("rt_detr_v2", tmp_path / "model.onnx", target)


@pytest.mark.tensorrt
@needs_rtx
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in ("rt_detr_v2", "detr") else pytest.mark.slow) for name in SETTINGS],
)
def test_tensorrt_rtx_builds_an_engine(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    exported(name, path, Target({**BATCH, **FIXED}, exporter="torchscript", backend="tensorrt-rtx"))
    record = rtx_engine(path, 1, 2, 4, seconds=1200)
    assert sum(record.layers.values())
