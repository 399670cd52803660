"""Rule 4 on trained weights: the shipped models, rewritten and not, on validation images."""

from pathlib import Path

import cv2
import pytest
import torch

from rewriters import rewriting
from rewriters.family_rewriters import import_rewriters
from tests.examples import slow_but
from zoo import build_model
from zoo.config import config_target, load_config
from zoo.families import contract_module

ROOT = Path(__file__).parents[2]
SAMPLE_IMAGES = sorted((ROOT / "zoo/data/digits/val/images").glob("*.jpg"))[::16]


@pytest.mark.parametrize(
    "name",
    slow_but(
        ["detection/faster-rcnn_r18-fpn_digits", "segmentation/fcn_r18-slide_digits"],
        "detection/faster-rcnn_r18-fpn_digits",
    ),
)
def test_rewritten_equals_unpatched(name: str) -> None:
    config = load_config(ROOT / "configs" / f"{name}.py")
    target, preprocess = config_target(config), config.preprocess
    images = torch.empty(len(SAMPLE_IMAGES), 3, *target.preferred.values())
    for image, path in zip(images, SAMPLE_IMAGES, strict=True):
        preprocess.run(cv2.imread(str(path)), image.numpy())
    level = "final" if name.startswith("detection") else "decoded"
    forward = config.export.forward
    module = contract_module(build_model(config), config.task, level, forward)
    import_rewriters(module)
    with torch.no_grad():
        expected = module(images)
        with rewriting(target, eager=True) as session:
            rewritten = module(images)
    assert session.hits
    if level == "final":
        assert int(expected[0].min()) >= 1  # something is found in every image
        for got, want in zip(rewritten, expected, strict=True):
            assert torch.equal(got, want)
    else:  # another order of the same sums, and convolutions of one batch instead of several
        scale = expected[0].abs().max().item()
        torch.testing.assert_close(rewritten[0], expected[0], atol=1e-5 * scale, rtol=0)
