"""Instances of transformers' models whose queries have masks: as the library makes them, and of exported files."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pipeline.parity.gates import GRAPH
from pipeline.parity.levels import compare_outputs
from tests.rewriters.segmentor_graphs import CLASSES, opened, target_of
from tests.rewriters.small_models import export
from tests.rewriters.small_segmentors import sample_images
from tests.rewriters.tensorrt.rtx_engine import needs_rtx, rtx_engine
from tests.small_transformers_segmentors import built, saved
from zoo.comparison.decision_rule import DecisionRule
from zoo.errors import ExportError, InputError
from zoo.families import contract_module, family_of
from zoo.registry import MODELS
from zoo.target import Target
from zoo.tasks import build_task
from zoo.tasks.contract import Contract
from zoo.tasks.proof import proof_of

transformers = pytest.importorskip("transformers", reason="needs the extra transformers")
pytestmark = pytest.mark.libraries

KIND = "TransformersInstanceSegmentor"
TASK = build_task({"type": "InstanceMasks", "classes": [{"name": str(label)} for label in range(CLASSES)]})
PROCESSORS = {
    "maskformer": "MaskFormerImageProcessor",
    "mask2former": "Mask2FormerImageProcessor",
    "oneformer": "MaskFormerImageProcessor",  # its own gives every pixel to an instance: see the test of that
}
CASES = ((1, (64, 96)), (3, (64, 96)), (2, (160, 128)), (1, (75, 101)))


def contract(model: Any) -> Contract:
    return contract_module(model, TASK, "final", {})


def own_outputs(model: Any, images: torch.Tensor) -> Any:
    """transformers' own, as its post-processing takes them."""
    classes, masks = model.raw(images)
    return SimpleNamespace(class_queries_logits=classes, masks_queries_logits=masks)


@pytest.mark.parametrize("name", PROCESSORS)
def test_instances_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    model, images = built(name, tmp_path, KIND), sample_images(2, 64, 96)
    post_process = getattr(transformers, PROCESSORS[name]).post_process_instance_segmentation
    with torch.no_grad():
        counts, scores, labels, masks = contract(model)(images)
        theirs = post_process(None, own_outputs(model, images), threshold=0.0, return_binary_maps=True)
    for image, expected in enumerate(theirs):
        count = int(counts[image])
        assert count == len(expected["segments_info"]) > 1
        order = sorted(range(count), key=lambda place: -expected["segments_info"][place]["score"])
        segments = [expected["segments_info"][place] for place in order]
        assert scores[image, :count].tolist() == pytest.approx([each["score"] for each in segments], abs=2e-6)
        assert labels[image, :count].tolist() == [each["label_id"] for each in segments]
        assert torch.equal(masks[image, :count].float(), expected["segmentation"][order])


def test_oneformers_own_function_gives_every_pixel_to_an_instance(tmp_path: Path) -> None:
    """Why MaskFormer's rule, that of the authors of OneFormer, is used: the function compares logits, which are below
    0 outside of all masks, by their size alone.
    """
    model, images = built("oneformer", tmp_path, KIND), sample_images(2, 64, 96)
    processor = object.__new__(transformers.OneFormerImageProcessor)  # its constructor asks for a file of names
    processor.class_info_file, processor.metadata = "", {}
    with torch.no_grad():
        outputs = own_outputs(model, images)
        empty = (outputs.masks_queries_logits <= 0).all(dim=1)
        theirs = processor.post_process_instance_segmentation(outputs, threshold=0.0)
    assert empty.any()
    assert all((found["segmentation"][nothing] >= 0).all() for found, nothing in zip(theirs, empty, strict=True))


def exported(model: Any, target: Target, path: Path) -> None:
    module = contract(model)
    export(module, target, path, [*module.outputs(TASK, "final")], other_sizes=False)


def assert_instances(model: Any, path: Path, cases: Any, backend: str) -> None:
    """Of images that the export has not seen: as the unpatched model, within the gates."""
    names = [spec.name for spec in TASK.outputs("final")]
    labels: set[int] = set()
    with opened(path, backend) as runner:
        for count, (height, width) in cases:
            images = sample_images(count, height, width, seed=height + width + count)
            with torch.no_grad():
                expected = dict(zip(names, [tensor.numpy() for tensor in contract(model)(images)], strict=True))
                queries = proof_of(TASK).logits(model(images), expected)
            actual = runner.run({"images": images.numpy()})
            findings = compare_outputs(TASK, "final", expected, actual, GRAPH, DecisionRule(), queries)
            assert not findings.failures, (count, height, width)
            assert findings.matched == expected["num_dets"].sum() > count
            labels |= set(expected["labels"].ravel().tolist())
    assert len(labels - {-1}) > 1


@pytest.mark.parametrize(
    "name", ["maskformer", *(pytest.param(name, marks=pytest.mark.slow) for name in ("mask2former", "oneformer"))]
)
def test_one_file_at_every_batch_and_size(name: str, tmp_path: Path) -> None:
    model, path = built(name, tmp_path, KIND), tmp_path / "m.onnx"
    exported(model, target_of("dynamic"), path)
    for backend in ("onnxruntime", "openvino"):
        assert_instances(model, path, CASES, backend)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROCESSORS)
def test_dynamo_at_a_fixed_size(name: str, tmp_path: Path) -> None:
    model, path = built(name, tmp_path, KIND), tmp_path / "m.onnx"
    exported(model, target_of("fixed", "dynamo"), path)
    for backend in ("onnxruntime", "openvino"):
        assert_instances(model, path, CASES[:2], backend)


def test_dynamo_refuses_a_dynamic_size(tmp_path: Path) -> None:
    words = "MaskFormerForInstanceSegmentation by dynamo needs a fixed height and width"
    with pytest.raises(ExportError, match=words):
        exported(built("maskformer", tmp_path, KIND), target_of("dynamic", "dynamo"), tmp_path / "m.onnx")


@pytest.mark.tensorrt
@needs_rtx
@pytest.mark.slow
@pytest.mark.parametrize("name", PROCESSORS)
def test_tensorrt_rtx_builds_an_engine(name: str, tmp_path: Path) -> None:
    model, path = built(name, tmp_path, KIND), tmp_path / "m.onnx"
    exported(model, target_of("fixed", backend="tensorrt-rtx"), path)
    assert_instances(model, path, CASES[:2], "onnxruntime")
    assert rtx_engine(path, 1, 2, 3, seconds=1200).layers


def test_another_task_and_another_model_are_refused(tmp_path: Path) -> None:
    segmentor = built("maskformer", tmp_path / "m")
    with pytest.raises(InputError, match="expected .*TransformersInstanceSegmentor for task instance-masks"):
        contract(segmentor)
    saved("segformer", tmp_path / "s")
    with pytest.raises(InputError, match="describes SegformerForSemanticSegmentation, which is not for instance segm"):
        MODELS.build({"type": KIND, "folder": str(tmp_path / "s")})
    model = built("maskformer", tmp_path / "i", KIND)
    with pytest.raises(InputError, match="zooport does not train models whose queries have masks"):
        family_of(model).losses(model, {})
