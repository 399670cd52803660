"""image_masks: what torchvision pastes, as an output of the graph; for both exporters, any size, and image_sizes."""

import functools
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torchvision.models.detection import MaskRCNN

from pipeline.parity.gates import GRAPH
from pipeline.parity.levels import compare_outputs
from rewriters import export_onnx, rewriting
from tests.examples import examples
from tests.exporters import DYNAMO_LATER
from tests.rewriters.small_families import DYNAMIC, outputs, sample_images
from tests.rewriters.small_models import (
    contract,
    fixed_target,
    image_mask_specs,
    instance_specs,
    small_mask_rcnn,
    without_rewriter,
)
from tests.small_tasks import small_task
from zoo.families import family_of
from zoo.target import Target
from zoo.tasks.contract import Contract
from zoo.tensor_spec import TensorSpec

SLOTS = 20
NAMES = [spec.name for spec in image_mask_specs(SLOTS)]
REWRITER = "zoo.contract.image_masks.image_masks"
# The height and width of the batch, and of each of its images.
SIZED_BATCHES = (((128, 128), [[97, 53]]), ((100, 128), [[100, 128], [64, 96], [49, 60]]))


@functools.cache
def seen_model() -> MaskRCNN:
    """A model that has seen an image: MultiScaleRoIAlign takes the scales of its levels from the first."""
    model = small_mask_rcnn()
    with torch.no_grad():
        model(list(sample_images(1, 64, 96)))
    return model


def asked(model: MaskRCNN | None = None) -> Contract:
    return contract(model or seen_model(), image_masks=True)


def same(found: Any, expected: tuple[Tensor, ...]) -> np.ndarray:
    """Fails where the project's gates would: 0.1 % of the pixels of a mask. Gives num_dets."""
    got, want = (
        dict(zip(NAMES, map(np.asarray, side), strict=True)) for side in (found, [each.numpy() for each in expected])
    )
    findings = compare_outputs(
        small_task("instance-segmentation"),
        "final",
        want,
        got,
        GRAPH,
        family_of(seen_model()).decision_rule(seen_model()),
    )
    assert not findings.failures
    assert len(findings.borderline) <= max(1, 0.02 * want["num_dets"].sum())
    assert got["image_masks"].dtype == np.uint8
    return got["num_dets"]


def test_the_contract_gives_what_torchvision_pastes() -> None:
    images = sample_images(2, 50, 70)
    num_dets, *others, pasted = outputs(asked(), images)
    with torch.no_grad():
        found = seen_model()(list(images))
    assert num_dets.min() >= 2
    assert pasted.shape == (2, SLOTS, 50, 70)
    assert pasted.dtype == torch.uint8
    for image, count in enumerate(num_dets.tolist()):
        assert torch.equal(pasted[image, :count].bool(), found[image]["masks"][:, 0] >= 0.5)
        assert not pasted[image, count:].any()
    for tensor, plain in zip((num_dets, *others), outputs(contract(seen_model()), images), strict=True):
        assert torch.equal(tensor, plain)


def test_each_image_of_a_padded_batch_is_pasted_to_itself() -> None:
    images, sizes = sample_images(2, 100, 128), torch.tensor([[100, 128], [64, 96]])
    num_dets, *_, pasted = outputs(asked(), images, sizes)
    with torch.no_grad():
        found = seen_model()([images[0], images[1, :, :64, :96]])
    assert num_dets.min() >= 2
    for image, (count, (height, width)) in enumerate(zip(num_dets.tolist(), sizes.tolist(), strict=True)):
        own = pasted[image, :count, :height, :width]
        assert torch.equal(own.bool(), found[image]["masks"][:, 0] >= 0.5)
        assert own.sum() == pasted[image].sum() > 0


@examples(2, 6)
@given(height=st.integers(40, 130), width=st.integers(40, 130), count=st.integers(1, 3), seed=st.integers(0, 50))
def test_eagerly_for_any_size(height: int, width: int, count: int, seed: int) -> None:
    images = sample_images(count, height, width, seed)
    expected = outputs(asked(), images)
    for target in (fixed_target(height, width), DYNAMIC):
        with rewriting(target, eager=True) as session:
            same(outputs(asked(), images), expected)
        assert session.hits[REWRITER] == 1


@examples(2, 6)
@given(
    sizes=st.lists(st.tuples(st.integers(32, 128), st.integers(32, 128)), min_size=1, max_size=3),
    seed=st.integers(0, 50),
)
def test_eagerly_for_any_sizes_in_one_batch(sizes: list[tuple[int, int]], seed: int) -> None:
    given_batch = sample_images(len(sizes), 128, 128, seed), torch.tensor(sizes)
    expected = outputs(asked(), *given_batch)
    with rewriting(fixed_target(128, 128, image_sizes=True), eager=True):
        same(outputs(asked(), *given_batch), expected)


def export(module: Contract, target: Target, path: Path, specs: list[TensorSpec], **more: Tensor) -> None:
    example = {"images": sample_images(2, *target.preferred.values(), seed=1), **more}
    export_onnx(module, target, path, example=example, output_specs=specs, required_rewriters=[REWRITER])


def run(path: Path, **inputs: Tensor) -> list[np.ndarray]:
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    found: list[np.ndarray] = session.run(None, {name: tensor.numpy() for name, tensor in inputs.items()})
    return found


@pytest.mark.slow  # make test has this form with the operators of TensorRT: tests/rewriters/tensorrt/test_families.py
@pytest.mark.parametrize("exporter", ["torchscript", "dynamo"])
def test_one_file_of_a_fixed_size(exporter: str, tmp_path: Path) -> None:
    """For every batch; and pasted for the used slots alone, read from the graph itself."""
    path = tmp_path / "m.onnx"
    export(asked(), fixed_target(64, 96, exporter=exporter), path, image_mask_specs(SLOTS, height=64, width=96))
    model = onnx.load(path)
    makers = {output: node for node in model.graph.node for output in node.output}
    node = makers["image_masks"]
    while node.op_type not in ("GreaterOrEqual", "Less"):  # opset 17's torchscript writes Not(Less)
        node = makers[node.input[2 if node.op_type == "ScatterND" else 0]]
    model.graph.output.append(onnx.helper.make_tensor_value_info(node.output[0], onnx.TensorProto.BOOL, None))
    onnx.save(model, tmp_path / "more.onnx")
    for count in (1, 5):
        images = sample_images(count, 64, 96, seed=7)
        *found, rows = run(tmp_path / "more.onnx", images=images)
        assert len(rows) == same(found, outputs(asked(), images)).sum() < count * SLOTS


@pytest.mark.slow
@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_one_file_at_every_size(exporter: str, tmp_path: Path) -> None:
    export(asked(), DYNAMIC.with_(exporter=exporter), tmp_path / "m.onnx", image_mask_specs(SLOTS))
    for count, height, width in ((1, 64, 96), (2, 97, 53), (5, 131, 33)):
        images = sample_images(count, height, width, seed=7)
        assert same(run(tmp_path / "m.onnx", images=images), outputs(asked(), images)).sum() > 0


@pytest.mark.slow
@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_one_file_with_a_size_for_each_image(exporter: str, tmp_path: Path) -> None:
    path, sizes = tmp_path / "m.onnx", torch.tensor([[64, 96], [50, 70]])
    target = DYNAMIC.with_(exporter=exporter, image_sizes=True)
    export(asked(), target, path, image_mask_specs(SLOTS), image_sizes=sizes)
    for (height, width), each in SIZED_BATCHES:
        given_batch = sample_images(len(each), height, width, seed=7), torch.tensor(each)
        found = run(path, images=given_batch[0], image_sizes=given_batch[1])
        assert same(found, outputs(asked(), *given_batch)).sum() > 0
        for masks, (h, w) in zip(found[5], each, strict=True):
            assert not masks[:, h:].any()
            assert not masks[:, :, w:].any()


@pytest.mark.slow
@pytest.mark.parametrize("exporter", ["torchscript", "dynamo"])
def test_a_fixed_batch_with_few_and_no_detections(exporter: str, tmp_path: Path) -> None:
    """With a fixed batch torch knows the number of slots, and must not write it where there are fewer rows."""
    module = asked(small_mask_rcnn(box_score_thresh=0.65))
    target = fixed_target(64, 96, exporter=exporter)
    target = target.with_(batch=type(target.batch).fixed(2))
    export(module, target, tmp_path / "m.onnx", image_mask_specs(SLOTS, 2, 64, 96))
    counts = []
    for seed in (1, 5, 6):
        images = sample_images(2, 64, 96, seed)
        counts.append(same(run(tmp_path / "m.onnx", images=images), outputs(module, images)).tolist())
    assert counts == [[0, 0], [1, 3], [1, 0]]


def test_without_the_option_nothing_is_pasted(tmp_path: Path) -> None:
    images = sample_images(2, 64, 96)
    with rewriting(fixed_target(64, 96), eager=True) as session:
        assert len(outputs(contract(seen_model()), images)) == len(instance_specs(SLOTS))
    assert not session.hits[REWRITER]


# Rule 6. Seen with torch 2.15 and torchvision 0.29.
def test_without_it_the_masks_inside_their_boxes_are_silently_taken_for_pasted_ones() -> None:
    images = sample_images(2, 64, 96)
    expected = outputs(asked(), images)[-1]
    with without_rewriter(REWRITER), rewriting(fixed_target(64, 96), eager=True):
        wrong = outputs(asked(), images)[-1]
    assert wrong.shape == expected.shape
    assert (wrong != expected).any(dim=(2, 3)).sum() > 10
    assert not wrong[:, :, 28:].any()
