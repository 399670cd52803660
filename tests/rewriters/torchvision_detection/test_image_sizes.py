"""Images of different sizes in one padded batch: the unpatched model on the list of them is the reference."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor, nn
from torchvision.models.detection.transform import GeneralizedRCNNTransform

import zoo.contract.valid_regions
from rewriters import export_onnx, rewriting
from rewriters.torchvision_detection.run_time_resize import resize_at_run_time
from rewriters.torchvision_detection.sized_batch import SizedBatch
from tests.examples import examples, slow_but
from tests.rewriters.small_families import (
    DYNAMIC,
    FAMILIES,
    contract_of,
    outputs,
    same_findings,
    sample_images,
    small,
    specs_of,
)
from tests.rewriters.small_models import fixed_target, without_rewriter
from zoo.contract.valid_regions import valid_regions
from zoo.errors import ExportError, InputError
from zoo.tensor_spec import TensorSpec

FIXED = fixed_target(128, 128, image_sizes=True)
VALID_REGIONS = "zoo.contract.valid_regions.valid_regions"
SIZED = DYNAMIC.with_(image_sizes=True)
# The height and width of the batch, and of each of its images: alone, beside a smaller one, and five.
BATCHES = (
    ((128, 128), [[97, 53]]),
    ((128, 128), [[128, 128], [64, 96]]),
    ((128, 128), [[49, 60], [128, 96], [33, 128], [100, 100], [96, 64]]),
)


def test_the_contract_gives_what_the_model_makes_of_the_list_of_images() -> None:
    model = small("faster_rcnn")
    images, sizes = sample_images(2, 128, 128, seed=3), torch.tensor([[97, 53], [45, 128]])
    num_dets, boxes, scores, labels = outputs(contract_of(model, "faster_rcnn"), images, sizes)
    with torch.no_grad():
        found = model([images[0, :, :97, :53], images[1, :, :45, :128]])
    assert num_dets.sum() >= 5
    for image, count in enumerate(num_dets.tolist()):
        assert torch.equal(boxes[image, :count], found[image]["boxes"])
        assert torch.equal(scores[image, :count], found[image]["scores"])
        assert torch.equal(labels[image, :count], found[image]["labels"])


@examples(12, 50)
@given(
    data=st.data(),
    count=st.integers(1, 4),
    height=st.integers(2, 90),
    width=st.integers(2, 90),
    limits=st.sampled_from([{}, {"fixed_size": (40, 56)}, {"size_divisible": 1}]),
)
def test_the_resized_batch_is_torchvisions(data: Any, count: int, height: int, width: int, limits: Any) -> None:
    """Pixels, padding and sizes, whatever lies outside the images."""
    transform = GeneralizedRCNNTransform(48, 80, [0.4, 0.5, 0.6], [0.2, 0.3, 0.4], **limits).eval()
    sizes = torch.tensor([[data.draw(st.integers(2, side)) for side in (height, width)] for _ in range(count)])
    images = sample_images(count, height, width, seed=count)
    expected, _ = transform([image.clone() for image in valid_regions(images, sizes)])
    for image, (h, w) in zip(images, sizes.tolist(), strict=True):
        image[:, h:] = image[:, :, w:] = torch.nan
    given_batch = transform.normalize(SizedBatch(images, sizes).valid_pixels())
    batch, image_size = resize_at_run_time(transform, given_batch, sizes)
    want = torch.tensor([tuple(size) for size in expected.image_sizes])
    assert torch.equal(torch.as_tensor(image_size).expand_as(want), want)
    torch.testing.assert_close(batch, expected.tensors, atol=2e-5, rtol=0)


# Thin regions are examples of their own: clipped to one, boxes have no width, and what torchvision's batched_nms keeps
# of those hangs on the rounding of its offsets (docs/rewriters.md).
SIDES = st.integers(32, 128)


@pytest.mark.parametrize("family", FAMILIES)
@examples(2, 5)
@given(
    sizes=st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=3),
    seed=st.integers(0, 50),
)
@example(sizes=[(128, 128), (1, 96), (128, 2)], seed=0)
def test_eagerly_for_any_sizes(family: str, sizes: list[tuple[int, int]], seed: int) -> None:
    model = small(family)
    given_batch = sample_images(len(sizes), 128, 128, seed), torch.tensor(sizes)
    expected = outputs(contract_of(model, family), *given_batch)
    with rewriting(FIXED, eager=True):
        padded = outputs(contract_of(model, family), *given_batch)
    same_findings(family, model, expected, [tensor.numpy() for tensor in padded])


@pytest.mark.parametrize("level", slow_but(["decoded", "raw"], "raw"))
@pytest.mark.parametrize("family", FAMILIES)
def test_the_levels_before_the_last_eagerly(family: str, level: str) -> None:
    module = contract_of(small(family), family, level)
    given_batch = sample_images(2, 128, 128), torch.tensor([[97, 53], [64, 96]])
    expected = outputs(module, *given_batch)
    with rewriting(FIXED, eager=True):
        padded = outputs(module, *given_batch)
    for got, want in zip(padded, expected, strict=True):
        torch.testing.assert_close(got, want, atol=2e-3, rtol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_region_that_torchvision_refuses_leaves_no_nan_and_the_other_images_alone(family: str) -> None:
    """Its resized side would be 0; that of a row more is 1, and asks for as large a batch."""
    model, images = small(family), sample_images(2, 128, 128)
    expected = outputs(contract_of(model, family), images, torch.tensor([[128, 128], [2, 128]]))
    with rewriting(FIXED, eager=True):
        found = outputs(contract_of(model, family), images, torch.tensor([[128, 128], [1, 128]]))
    assert all(tensor.isfinite().all() for tensor in found)
    same_findings(family, model, tuple(tensor[:1] for tensor in expected), [tensor[:1].numpy() for tensor in found])


class Means(nn.Module):
    """The mean of each image: a list of images in, which is what a detector of torchvision makes of it."""

    def forward(self, images: Tensor, image_sizes: Tensor) -> Tensor:
        return torch.stack([region.mean() for region in zoo.contract.valid_regions.valid_regions(images, image_sizes)])


MEANS: dict[str, Any] = {"output_specs": [TensorSpec("means", "float32", ("batch",))]}


# Rule 6. Seen with torch 2.15.
def test_needed_without_it_torchscript_does_not_read_the_sizes(tmp_path: Path) -> None:
    inputs, target = two_images([128, 128], [64, 96]), FIXED.with_(exporter="torchscript")
    with without_rewriter(VALID_REGIONS), pytest.raises(ExportError, match='the graph has no input "image_sizes"'):
        export_onnx(Means().eval(), target, tmp_path / "m.onnx", example=inputs, **MEANS)


@pytest.mark.slow
def test_needed_without_it_dynamo_freezes_the_number_of_images(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    with without_rewriter(VALID_REGIONS):
        export_onnx(Means().eval(), FIXED, path, example=two_images([128, 128], [64, 96]), other_sizes=False, **MEANS)
    three = {name: tensor.numpy() for name, tensor in two_images([128, 128], [64, 96], [9, 9]).items()}
    assert len(ort.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, three)[0]) == 2


def two_images(*sizes: list[int]) -> dict[str, Tensor]:
    return {"images": sample_images(len(sizes), 128, 128, seed=1), "image_sizes": torch.tensor(sizes)}


ON_EVERY_COMMIT = [(family, "torchscript", "fixed") for family in ("keypoint_rcnn",)]
EXPORTED = [
    pytest.param(
        (family, exporter, target),
        id=f"{family}-{exporter}-{name}",
        # the sizes inside the graph follow image_sizes either way; the ones of the batch matter little. Eagerly all
        # families are compared above.
        marks=[] if (family, exporter, name) in ON_EVERY_COMMIT else [pytest.mark.slow],
    )
    for exporter in ("torchscript", "dynamo")
    for name, target in (("fixed", FIXED), ("dynamic", SIZED))
    for family in FAMILIES
]


@pytest.fixture(scope="module", params=EXPORTED)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any, Path]:
    family, exporter, target = request.param
    model = small(family)
    path = tmp_path_factory.mktemp(family) / "model.onnx"
    record = export_onnx(
        contract_of(model, family),
        target.with_(exporter=exporter),
        path,
        example=two_images([128, 128], [64, 96]),
        output_specs=specs_of(family),
    )
    assert [tuple(spec) for spec in record.inputs[1:]] == [("image_sizes", "int64", ("batch", 2))]
    return family, model, path


@pytest.mark.slow
def test_one_file_equals_the_unpatched_model_on_the_list_of_images(exported: tuple[str, Any, Path]) -> None:
    family, model, path = exported
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    total = 0
    for (height, width), sizes in BATCHES:
        images, image_sizes = sample_images(len(sizes), height, width, seed=7), torch.tensor(sizes)
        expected = outputs(contract_of(model, family), images, image_sizes)
        found: list[np.ndarray] = session.run(None, {"images": images.numpy(), "image_sizes": image_sizes.numpy()})
        total += same_findings(family, model, expected, found)
        for boxes, (h, w) in zip(found[1], sizes, strict=True):
            assert boxes.min() >= 0
            assert (boxes <= np.array([w, h, w, h]) + 1e-3).all()
    assert total >= 10


@pytest.mark.parametrize(
    ("target", "names"), [(FIXED, ["images"]), (fixed_target(128, 128), ["images", "image_sizes"])]
)
def test_the_input_must_be_there_just_where_the_target_has_it(target: Any, names: list[str], tmp_path: Path) -> None:
    inputs = {name: tensor for name, tensor in two_images([128, 128], [64, 96]).items() if name in names}
    with pytest.raises(InputError, match="give the input image_sizes int64.* just where the target has it"):
        export_onnx(
            contract_of(small("ssd"), "ssd"), target, tmp_path / "m.onnx", example=inputs, output_specs=specs_of("ssd")
        )
