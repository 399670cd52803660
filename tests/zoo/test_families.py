"""Models of no family, and what a family may be registered for."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from torch import Tensor, nn

from rewriters import export_onnx
from tests.exporters import DYNAMO_LATER
from tests.small_tasks import small_task
from zoo.errors import ExportError, InputError
from zoo.families import Family, contract_module, families, family_of, register
from zoo.models.segmentation import EncoderDecoder
from zoo.target import AxisRange, Target
from zoo.tensor_spec import TensorSpec

K, SIDE = 4, 8


class Peaks(nn.Module):
    """Rows whose mean is above a half: as many detections as there are such rows, which an image decides."""

    detections_per_img = K

    def forward(self, images: Tensor) -> list[dict[str, Tensor]]:
        return [self.of_image(image.mean(dim=(0, 2))) for image in images]

    def of_image(self, means: Tensor) -> dict[str, Tensor]:
        (rows,) = torch.where(means > 0.5)
        corners = rows.to(means.dtype).unsqueeze(1)
        return {
            "boxes": torch.cat((corners * 0, corners, corners * 0 + SIDE, corners + 1), dim=1),
            "scores": means[rows],
            "labels": rows,
        }


class WithParts(Peaks):
    """With keypoints and masks as well."""

    def of_image(self, means: Tensor) -> dict[str, Tensor]:
        found = super().of_image(means)
        places = found["boxes"][:, :2].unsqueeze(1)
        return found | {
            "keypoints": torch.cat((places, torch.ones_like(places[..., :1])), dim=-1),
            "keypoints_scores": found["scores"].unsqueeze(1),
            "masks": found["scores"].reshape(-1, 1, 1, 1).expand(-1, 1, 3, 3),
        }


def with_bright_rows(*counts: int) -> Tensor:
    """Images whose first rows are bright."""
    images = torch.zeros(len(counts), 3, SIDE, SIDE)
    for image, count in zip(images, counts, strict=True):
        image[:, :count] = 0.9
    return images


def test_a_detector_of_no_family_fills_slots() -> None:
    contract = contract_module(Peaks(), small_task("detection"), "final", {})
    assert [spec.name for spec in contract.outputs(small_task("detection"), "final")] == [
        *("num_dets", "boxes", "scores", "labels")
    ]
    num_dets, boxes, scores, labels = contract(with_bright_rows(2, 0, 4))
    assert num_dets.tolist() == [2, 0, 4]
    assert boxes.shape == (3, K, 4)
    assert boxes[0].tolist() == [[0, 0, 8, 1], [0, 1, 8, 2], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert scores[0].tolist() == pytest.approx([0.9, 0.9, 0, 0])
    assert labels.tolist() == [[0, 1, -1, -1], [-1] * 4, [0, 1, 2, 3]]


def test_keypoints_and_masks_of_no_family() -> None:
    keypoints = contract_module(WithParts(), small_task("keypoint-detection"), "final", {})(with_bright_rows(2))[-1]
    assert keypoints[0, :, 0].numpy() == pytest.approx(np.array([[0, 0, 0.9], [0, 1, 0.9], [0, 0, 0], [0, 0, 0]]))
    masks = contract_module(WithParts(), small_task("instance-segmentation"), "final", {})(with_bright_rows(3))[-1]
    assert masks.shape == (1, K, 3, 3)
    assert masks[0].mean(dim=(1, 2)).tolist() == pytest.approx([0.9, 0.9, 0.9, 0])


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_its_graph_gives_any_number_of_detections(exporter: str, tmp_path: Path) -> None:
    """Batch 1: without a rewriter the loop over images is the traced one."""
    one = AxisRange.fixed(1)
    side = AxisRange.fixed(SIDE)
    target = Target({"batch": one, "height": side, "width": side}, exporter=exporter)
    contract = contract_module(Peaks(), small_task("detection"), "final", {})
    specs = [
        TensorSpec("num_dets", "int64", (1,)),
        TensorSpec("boxes", "float32", (1, K, 4)),
        TensorSpec("scores", "float32", (1, K)),
        TensorSpec("labels", "int64", (1, K)),
    ]
    export_onnx(contract, target, tmp_path / "m.onnx", example={"images": with_bright_rows(2)}, output_specs=specs)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    for count in (0, 1, 4):
        images = with_bright_rows(count)
        for output, expected in zip(session.run(None, {"images": images.numpy()}), contract(images), strict=True):
            assert output == pytest.approx(expected.numpy(), abs=1e-6)


class Gives(nn.Module):
    """What it was constructed with."""

    def __init__(self, output: Any, most: object = K) -> None:
        super().__init__()
        self.output, self.detections_per_img = output, most

    def forward(self, images: Tensor) -> Any:
        return self.output


def entry(count: int = 1, **more: Tensor) -> dict[str, Tensor]:
    return {"boxes": torch.zeros(count, 4), "scores": torch.zeros(count), "labels": torch.zeros(count).long()} | more


@pytest.mark.parametrize(
    ("model", "task", "words"),
    [
        (nn.Identity(), "detection", "model Identity: detections_per_img is None; give a detector of no family this"),
        (Gives([], most=0), "detection", "model Gives: detections_per_img is 0; give a detector of no family this"),
        (
            Gives(torch.zeros(1)),
            "detection",
            "model Gives: its forward gives no boxes, scores, labels, expected a list",
        ),
        (
            Gives([{"boxes": 0}]),
            "detection",
            "model Gives: its forward gives no scores, labels, expected a list of dic",
        ),
        (Gives([entry()]), "keypoint-detection", "its forward gives no keypoints, keypoints_scores, expected a list"),
        (Gives([entry(K + 1)]), "detection", "gives 5 detections for an image, and its detections_per_img is 4; keep"),
        (
            Gives([entry(masks=torch.zeros(1, 1, SIDE, SIDE))]),
            "instance-segmentation",
            "its masks are as large as the image; give those of the head",
        ),
    ],
)
def test_what_a_detector_of_no_family_gives_otherwise(model: nn.Module, task: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        contract_module(model, small_task(task), "final", {})(with_bright_rows(1))


def test_it_takes_no_image_sizes() -> None:
    contract = contract_module(Peaks(), small_task("detection"), "final", {})
    with pytest.raises(InputError, match="image_sizes with Peaks: a detector of no family takes a batch of one size"):
        contract(with_bright_rows(1), torch.tensor([[4, 4]]))


@pytest.mark.parametrize(
    ("level", "layout", "words"),
    [
        ("decoded", "zooport", "level decoded: Peaks has no such level for task detection; it has final"),
        ("plugin", "zooport", "level plugin: Peaks has no plugin nodes; YOLOv5 has"),
        ("decoded", "ultralytics", "layout ultralytics: Peaks has no such layout; YOLOv5 has"),
    ],
)
def test_levels_and_layouts_that_it_has_not(level: str, layout: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        contract_module(Peaks(), small_task("detection"), level, {}, layout)


def test_a_class_has_one_family_and_a_subclass_may_have_its_own() -> None:
    before = families()
    with pytest.raises(
        InputError, match="family Second: EncoderDecoder already belongs to EncoderDecoderFamily; register a"
    ):

        @register(EncoderDecoder)
        class Second(Family):
            pass

    assert families() == before


def test_no_family_holds_what_its_base_has_not() -> None:
    """A misspelt override would be asked for by nobody."""
    for family in families():
        assert not [name for name in vars(type(family)) if not name.startswith("_") and not hasattr(Family, name)]


def test_rewriters_that_cannot_be_imported_are_named(tmp_path: Path) -> None:
    class Lost(Peaks):
        pass

    from zoo.families import registry

    @register(Lost)
    class LostFamily(Family):
        rewriters = "no_such_rewriters"

    side = AxisRange.fixed(SIDE)
    example: Mapping[str, Tensor] = {"images": with_bright_rows(1, 1)}
    try:
        with pytest.raises(
            ExportError, match='family LostFamily: its rewriters "no_such_rewriters" cannot be imported'
        ):
            export_onnx(
                Lost().eval(),
                Target({"height": side, "width": side}),
                tmp_path / "m.onnx",
                example=example,
                output_specs=[],
            )
    finally:
        del registry._by_class[Lost]
    assert not list(tmp_path.iterdir())


def test_family_of_a_plain_module_is_the_generic_one() -> None:
    assert family_of(nn.Identity()) is family_of(Peaks())
    assert family_of(nn.Identity()) not in families()
