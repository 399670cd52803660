"""The task of super-resolution: its contract, its results in the enlarged image's coordinates, and their images."""

import numpy as np
import pytest
import torch

from zoo.errors import InputError
from zoo.families import contract_module
from zoo.input_specs import SCALE
from zoo.metrics import build_metric
from zoo.models.restoration import SRCNN, AnyScaleSRCNN
from zoo.preprocess import Geometry, Preprocess
from zoo.tasks.semantic_segmentation import SegmentationResult
from zoo.tasks.super_resolution import SuperResolution, SuperResolutionResult

TASK = SuperResolution()
IMAGE = np.random.default_rng(0).integers(0, 256, (33, 41, 3), dtype=np.uint8)


def test_the_output_contract() -> None:
    assert [str(spec) for spec in TASK.outputs()] == ["image float32 [N, 3, sH, sW]"]
    assert TASK.outputs("raw") == TASK.outputs("decoded") == ()


def test_a_result_has_the_bytes_of_the_enlarged_image_alone() -> None:
    """Padding is cut off, channels become BGR, values are clipped and rounded."""
    geometry = Preprocess.from_dict({"resize": "keep", "size_divisor": 8}).geometry(33, 41)
    assert geometry.tensor_size == (40, 48)
    sample_image = np.random.default_rng(1).uniform(-0.2, 1.2, (1, 3, 80, 96)).astype(np.float32)
    (result,) = TASK.results({"image": sample_image}, [geometry])
    assert isinstance(result, SuperResolutionResult)
    assert result.image.shape == (66, 82, 3)
    expected = np.rint(sample_image[0].clip(0, 1).transpose(1, 2, 0)[:66, :82, ::-1] * 255)
    np.testing.assert_array_equal(result.image, expected)
    with pytest.raises(ValueError, match="read-only"):
        result.image[0] = 0


def test_an_image_that_was_resized_first_is_refused() -> None:
    geometry = Geometry((33, 41), (66, 82), (66, 82))
    with pytest.raises(InputError, match='expected the image as it is; give the preprocessing resize="keep"'):
        TASK.results({"image": np.zeros((1, 3, 132, 164), np.float32)}, [geometry])


def test_results_are_equal_by_value_and_of_one_kind() -> None:
    assert SuperResolutionResult(IMAGE) == SuperResolutionResult(IMAGE.copy())
    assert SuperResolutionResult(IMAGE) != SuperResolutionResult(255 - IMAGE)
    assert SuperResolutionResult(IMAGE) != SegmentationResult(IMAGE[..., 0])
    for wrong in (IMAGE.astype(np.float32), IMAGE[..., 0], IMAGE[..., :2]):
        with pytest.raises(InputError, match=r"expected uint8 \[h, w, 3\]"):
            SuperResolutionResult(wrong)


def test_the_image_is_half_bicubic_half_result() -> None:
    large = np.zeros((99, 123, 3), np.uint8)
    drawn = TASK.draw(IMAGE, SuperResolutionResult(large))
    assert drawn.shape == large.shape
    assert not drawn[:60, 61:].any()
    assert drawn[:60, :61].any()
    with pytest.raises(InputError, match="super-resolution cannot draw a SegmentationResult"):
        TASK.draw(IMAGE, SegmentationResult(IMAGE[..., 0]))


def test_the_contract_clips() -> None:
    model = SRCNN(scale=3, filters=(4, 2)).eval()
    torch.nn.init.constant_(model.conv3.bias, 2.0)
    module = contract_module(model, TASK, "final", {})
    (image,) = module(torch.rand(2, 3, 32, 35))
    assert image.shape == (2, 3, 96, 105)
    assert image.max() == 1.0
    assert (module.settings, module.defaults) == ((), {})


def test_the_contract_of_any_scale_has_it_as_a_setting() -> None:
    module = contract_module(AnyScaleSRCNN(filters=(4, 2)), TASK, "final", {})
    assert (module.settings, module.defaults) == ((SCALE,), {"scale": 3})
    images = torch.rand(1, 3, 32, 35)
    assert module(images, torch.tensor([4]))[0].shape == (1, 3, 128, 140)
    assert torch.equal(module(images)[0], module(images, torch.tensor([3]))[0])


@pytest.mark.parametrize("level", ["decoded", "raw"])
def test_other_levels_are_refused(level: str) -> None:
    words = f"level {level}: SRCNN has no such level for task super-resolution; it has final"
    with pytest.raises(InputError, match=words):
        contract_module(SRCNN(), TASK, level, {})


def test_the_metric_takes_the_results() -> None:
    metric = build_metric({"type": TASK.metric, "crop_border": 3})
    noisy = np.clip(IMAGE.astype(np.int64) + 1, 0, 255).astype(np.uint8)
    metric.process([{"target": IMAGE}], [SuperResolutionResult(noisy)])
    figures = metric.evaluate(1)
    assert 45 < figures["restoration/PSNR"] < 55
    assert metric.unit == "dB"
