"""TransformersDepth gives what transformers' own post-processing makes of its own model's output."""

from pathlib import Path

import pytest
import torch

from tests.rewriters.small_models import fixed_target
from tests.rewriters.small_segmentors import sample_images
from tests.small_transformers_segmentors import built, saved, small
from zoo.errors import InputError
from zoo.families import checked_divisor
from zoo.registry import MODELS

transformers = pytest.importorskip("transformers", reason="needs the extra transformers")
pytestmark = pytest.mark.libraries


@pytest.mark.parametrize(("name", "size"), [("depth_anything", (56, 84)), ("dpt_depth", (64, 64))])
def test_depth_is_that_of_transformers(name: str, size: tuple[int, int], tmp_path: Path) -> None:
    model, images = built(name, tmp_path, "TransformersDepth"), sample_images(2, *size)
    with torch.no_grad():
        output = small(name)(pixel_values=images)
        theirs = transformers.DPTImageProcessor.post_process_depth_estimation(None, output, target_sizes=[size] * 2)
        expected = torch.stack([one["predicted_depth"] for one in theirs])
        assert expected.std() > 1e-3  # alive
        torch.testing.assert_close(model(images)["depth"], expected, atol=1e-5, rtol=1e-5)


def test_sizes_that_patches_do_not_fill_are_refused(tmp_path: Path) -> None:
    model = built("depth_anything", tmp_path, "TransformersDepth")
    assert checked_divisor(model, fixed_target(56, 84)) == 14
    with pytest.raises(
        InputError, match="^width 80: TransformersDepth takes multiples of 14; give 70 or 84 in preprocess.size$"
    ):
        checked_divisor(model, fixed_target(56, 80))
    square = built("dpt_depth", tmp_path / "dpt", "TransformersDepth")
    with pytest.raises(InputError, match="^height 64, width 96: this DPT of transformers takes square images only"):
        checked_divisor(square, fixed_target(64, 96))


def test_what_is_post_processed_in_another_way_is_refused(tmp_path: Path) -> None:
    settings = transformers.GLPNConfig(
        hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], num_attention_heads=[1, 1, 2, 2], decoder_hidden_size=8
    )
    transformers.GLPNForDepthEstimation(settings).save_pretrained(tmp_path)
    with pytest.raises(InputError, match="a model of type glpn in a way of its own; expected depth_anything or dpt$"):
        MODELS.build({"type": "TransformersDepth", "folder": str(tmp_path)})
    saved("segformer", tmp_path / "other")
    with pytest.raises(InputError, match="SegformerForSemanticSegmentation, which is not for depth estimation"):
        MODELS.build({"type": "TransformersDepth", "folder": str(tmp_path / "other")})
