"""YOLOv5: the original's parameters by name and number, boxes by hand, post-processing, and losses that teach."""

from collections.abc import Iterator

import pytest
import torch
from torchvision.ops import box_iou

from tests.rewriters.small_yolov5 import SIZE, contract, small_yolov5
from zoo.errors import InputError
from zoo.families import contract_module
from zoo.models.detection.yolov5 import YOLOv5
from zoo.tasks import build_task


def names_of_the_original() -> Iterator[str]:
    """The names in the state dict of the original's n and s, by its layer numbers."""

    def conv(prefix: str) -> Iterator[str]:
        yield f"{prefix}.conv.weight"
        yield from (f"{prefix}.bn.{name}" for name in ("weight", "bias", "running_mean", "running_var"))
        yield f"{prefix}.bn.num_batches_tracked"

    depths = {2: 1, 4: 2, 6: 3, 8: 1, 13: 1, 17: 1, 20: 1, 23: 1}
    for layer in (0, 1, 3, 5, 7, 10, 14, 18, 21):
        yield from conv(f"model.{layer}")
    for layer, depth in depths.items():
        parts = ["cv1", "cv2", "cv3", *(f"m.{i}.cv{j}" for i in range(depth) for j in (1, 2))]
        for part in parts:
            yield from conv(f"model.{layer}.{part}")
    for part in ("cv1", "cv2"):
        yield from conv(f"model.9.{part}")
    yield "model.24.anchors"
    yield from (f"model.24.m.{level}.{name}" for level in range(3) for name in ("weight", "bias"))


# What the original prints of its models for COCO's 80 classes: "270 layers, 1872157 parameters", "... 7235389 ...".
@pytest.mark.parametrize(("width", "parameters"), [(0.25, 1_872_157), (0.5, 7_235_389)], ids=["n", "s"])
def test_it_has_the_parameters_of_the_original(width: float, parameters: int) -> None:
    model = YOLOv5(80, width=width)
    assert sum(parameter.numel() for parameter in model.parameters()) == parameters
    assert set(model.state_dict()) == set(names_of_the_original())


def test_anchors_are_kept_in_strides_as_the_original_does() -> None:
    anchors = YOLOv5(80).state_dict()["model.24.anchors"]
    assert anchors[:, 0].tolist() == [[10 / 8, 13 / 8], [30 / 16, 61 / 16], [116 / 32, 90 / 32]]


def test_a_state_dict_of_the_original_brings_its_own_anchors() -> None:
    state = {**YOLOv5(80).state_dict(), "model.24.anchors": torch.ones(3, 3, 2)}
    model = YOLOv5(80).eval()
    model.load_state_dict(state)
    maps = [torch.full((1, 255, 64 // s, 64 // s), 0.5) for s in (8, 16, 32)]
    boxes, _ = model.head.decode(maps)
    assert (boxes[0, 0, 2:] - boxes[0, 0, :2]).tolist() == [8.0, 8.0]


def test_a_box_by_hand() -> None:
    """Level p4, anchor 1 (62 x 45), row 1, column 2: the formulas of the architecture page."""
    model = YOLOv5(2).eval()
    maps = [torch.zeros(1, 21, 96 // s, 128 // s) for s in (8, 16, 32)]
    maps[1][0, 7:14, 1, 2] = torch.tensor([0.25, 0.75, 0.5, 0.25, 0.8, 0.5, 0.9])
    boxes, scores = model.head.decode(maps)
    index = 3 * 12 * 16 + 1 * 6 * 8 + 1 * 8 + 2
    x, y = (0.25 * 2 - 0.5 + 2) * 16, (0.75 * 2 - 0.5 + 1) * 16
    w, h = (0.5 * 2) ** 2 * 62, (0.25 * 2) ** 2 * 45
    torch.testing.assert_close(boxes[0, index], torch.tensor([x - w / 2, y - h / 2, x + w / 2, y + h / 2]))
    torch.testing.assert_close(scores[0, index], torch.tensor([0.4, 0.72]))
    assert scores.flatten().nonzero().numel() == 2


class TestPostprocessing:
    boxes = torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 9], [1, 0, 10, 10], [20, 20, 30, 30]])
    scores = torch.tensor([[0.9, 0.0], [0.8, 0.1], [0.2, 0.7], [0.1, 0.05]])

    def found(self, **options: object) -> dict[str, torch.Tensor]:
        model = YOLOv5(2, **options).eval()  # type: ignore[arg-type]
        return model.postprocess_detections(self.boxes[None], self.scores[None])[0]

    def test_each_class_by_itself(self) -> None:
        assert self.found()["scores"].tolist() == pytest.approx([0.9, 0.7])
        assert self.found()["labels"].tolist() == [0, 1]

    def test_all_classes_together(self) -> None:
        assert self.found(class_agnostic=True)["scores"].tolist() == pytest.approx([0.9])

    def test_limits(self) -> None:
        assert self.found(score_thresh=0.75)["labels"].tolist() == [0]
        assert self.found(detections_per_img=1)["labels"].tolist() == [0]
        assert self.found(topk_candidates=2)["labels"].tolist() == [0]

    def test_nothing(self) -> None:
        found = self.found(score_thresh=0.95)
        assert {name: tuple(value.shape) for name, value in found.items()} == {
            "boxes": (0, 4),
            "scores": (0,),
            "labels": (0,),
        }
        assert found["labels"].dtype == torch.int64


@pytest.mark.slow
def test_training_teaches_it_where_things_are() -> None:
    model = small_yolov5(score_thresh=0.2).train()
    images = torch.rand(2, 3, *SIZE)
    targets = [
        {"boxes": torch.tensor([[10.0, 12, 30, 40], [50, 8, 90, 60]]), "labels": torch.tensor([0, 2])},
        {"boxes": torch.zeros(0, 4), "labels": torch.zeros(0, dtype=torch.int64)},
    ]
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    for _ in range(60):
        loss = sum(model(images, targets).values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 3
    # still with the statistics of this batch: the running ones follow within hundreds of steps
    found = model.postprocess_detections(*model.head.decode([level.sigmoid() for level in model.logits(images)]))[0]
    best = box_iou(targets[0]["boxes"], found["boxes"]).max(dim=1)
    assert (best.values > 0.7).all()
    assert found["labels"][best.indices].tolist() == [0, 2]


def test_a_box_without_any_extent_has_a_finite_loss() -> None:
    model = small_yolov5().train()
    with torch.no_grad():
        for conv in model.head.m:
            conv.bias.view(3, -1)[:, 2:4] -= 1000  # type: ignore[union-attr, operator]
    target = {"boxes": torch.tensor([[10.0, 12, 30, 40]]), "labels": torch.tensor([0])}
    losses = model(torch.rand(2, 3, *SIZE), [target, target])
    sum(losses.values()).backward()
    assert all(torch.isfinite(loss) for loss in losses.values())
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


def test_a_batch_without_any_object_has_finite_losses() -> None:
    model = small_yolov5().train()
    nothing = {"boxes": torch.zeros(0, 4), "labels": torch.zeros(0, dtype=torch.int64)}
    losses = model(torch.rand(2, 3, *SIZE), [nothing, nothing])
    assert all(torch.isfinite(loss) for loss in losses.values())
    assert losses["loss_box"] == 0


def test_training_without_targets_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="needs targets; call eval"):
        small_yolov5().train()(torch.rand(1, 3, *SIZE))


def test_a_list_of_images_is_a_batch() -> None:
    model, images = small_yolov5(), torch.rand(2, 3, *SIZE)
    for listed, stacked in zip(model(list(images)), model(images), strict=True):
        assert torch.equal(listed["boxes"], stacked["boxes"])


def test_image_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="image_sizes with YOLOv5: it takes a batch of one size"):
        contract(small_yolov5())(torch.rand(1, 3, *SIZE), torch.tensor([[32, 32]]))


def test_it_detects_and_nothing_else() -> None:
    task = build_task({"type": "InstanceSegmentation", "classes": [{"name": "a", "category_id": 0}]})
    with pytest.raises(InputError, match="model YOLOv5: expected a torchvision R-CNN, .* for task instance-seg"):
        contract_module(small_yolov5(), task, "final", {})
