"""What nobody trains on: empty, uniform and crowded images, equal scores, NaN. In ONNX Runtime against unpatched."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pipeline.parity.gates import merged_gates
from pipeline.parity.levels import compare_outputs
from tests.examples import slow_but
from tests.rewriters.small_dense_models import SMALL, dense_contract, small_detector
from tests.rewriters.small_families import lowest_index_first
from tests.rewriters.small_models import (
    contract,
    detection_specs,
    export,
    fixed_target,
    instance_specs,
    keypoint_specs,
    run,
    small_faster_rcnn,
    small_keypoint_rcnn,
    small_mask_rcnn,
)
from tests.small_tasks import small_task
from zoo.families import family_of
from zoo.tasks.contract import Contract
from zoo.tasks.detection.proof.slots import slot_problems

HEIGHT, WIDTH = 64, 96
TWO_STAGE = {
    "faster_rcnn": (partial(small_faster_rcnn, seed=2), detection_specs, "detection"),
    "mask_rcnn": (small_mask_rcnn, instance_specs, "instance-segmentation"),
    "keypoint_rcnn": (small_keypoint_rcnn, keypoint_specs, "keypoint-detection"),
}
FAMILIES = (*TWO_STAGE, *SMALL)
# One of each kind, each an export of its own. The others have the same slots, thresholds and NMS, which the tests of
# the families compare.
ON_EVERY_COMMIT = slow_but(FAMILIES, "faster_rcnn")


class Family:
    """A small detector, its contract, and its graph."""

    def __init__(self, name: str, folder: Path, *, scores_alike: bool = False) -> None:
        two_stage = name in TWO_STAGE
        make, specs, self.task = TWO_STAGE[name] if two_stage else (None, detection_specs, "detection")
        self.model: Any = make() if make is not None else small_detector(name)
        if scores_alike:
            alike(self.model)
        self.module: Contract = contract(self.model) if two_stage else dense_contract(self.model)
        self.path = folder / f"{name}.onnx"
        slots = specs(self.module.num_slots or 0)
        self.names = [spec.name for spec in slots]
        export(self.module, fixed_target(HEIGHT, WIDTH, exporter="torchscript"), self.path, slots)

    def both(self, images: Tensor) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """PyTorch's and ONNX Runtime's outputs."""
        with torch.no_grad():
            expected = [tensor.numpy() for tensor in self.module(images)]
        return dict(zip(self.names, expected, strict=True)), dict(zip(self.names, run(self.path, images), strict=True))

    def check(self, images: Tensor) -> dict[str, np.ndarray]:
        """The outputs, which are equal as sets."""
        expected, found = self.both(images)
        gates, rule = merged_gates()["graph"], family_of(self.model).decision_rule(self.model)
        findings = compare_outputs(small_task(self.task), "final", expected, found, gates, rule)
        assert not findings.failures
        return found


def alike(model: Any) -> None:
    """All classes of all anchors and proposals score the same."""
    deciding = [model.rpn.head.cls_logits, model.roi_heads.box_predictor.cls_score] if hasattr(model, "rpn") else []
    deciding += [
        layer
        for name, layer in model.named_modules()
        if ("classification_head" in name or "ctrness" in name) and isinstance(layer, nn.Conv2d)
    ]
    for layer in deciding:
        nn.init.zeros_(layer.weight)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)
    decider = getattr(model, "roi_heads", model)
    decider.score_thresh = 0.1  # below what a quarter of the classes get each


@pytest.fixture(scope="module", params=ON_EVERY_COMMIT)
def family(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Family:
    return Family(request.param, tmp_path_factory.mktemp("edge"))


def crowd() -> Tensor:
    """300 squares on a grid, each of its own colour."""
    generator = torch.Generator().manual_seed(3)
    image = torch.zeros(1, 3, HEIGHT, WIDTH)
    for number in range(300):
        y, x = 4 * (number // 24) + 2, 4 * (number % 24)
        image[0, :, y : y + 3, x : x + 3] = torch.rand(3, 1, 1, generator=generator)
    return image


@pytest.mark.slow
@pytest.mark.parametrize("grey", [0.0, 0.5, 1.0])
def test_an_empty_or_uniform_image(family: Family, grey: float) -> None:
    family.check(torch.full((1, 3, HEIGHT, WIDTH), grey))
    family.check(torch.cat([torch.full((1, 3, HEIGHT, WIDTH), grey), crowd()]))


def test_an_image_with_300_objects(family: Family) -> None:
    assert family.check(crowd())["num_dets"][0] > 0


def test_nan_leaves_the_other_images_of_the_batch_alone(family: Family) -> None:
    good = crowd()
    broken = good.clone()
    broken[0, 1, 20:30, 40:50] = torch.nan
    found = dict(zip(family.names, run(family.path, torch.cat([broken, good])), strict=True))
    alone = family.check(good)
    for name, tensor in found.items():
        np.testing.assert_allclose(tensor[1], alone[name][0], atol=1e-3)
    assert not slot_problems({name: np.nan_to_num(tensor) for name, tensor in found.items()})


def test_an_image_of_nan_has_no_detections_and_proves_nothing(family: Family) -> None:
    expected, found = family.both(torch.full((1, 3, HEIGHT, WIDTH), torch.nan))
    for side in (expected, found):
        assert side["num_dets"].tolist() == [0]
        assert not slot_problems(side)
    gates, rule = merged_gates()["graph"], family_of(family.model).decision_rule(family.model)
    assert compare_outputs(
        small_task(family.task), "final", expected, found, gates, rule
    ).blank  # which no deployment passes with


@pytest.mark.parametrize("name", ON_EVERY_COMMIT)
def test_equal_scores_take_the_lowest_index(name: str, tmp_path: Path) -> None:
    family = Family(name, tmp_path, scores_alike=True)
    with lowest_index_first():
        found = family.check(crowd())
    assert found["num_dets"][0] > 0
    scores = found["scores"][0, : found["num_dets"][0]]
    assert np.ptp(scores) < 1e-6
