"""RotatedFCOS: boxes by hand, what its places learn, a loss that knows no seam of the angle, and thresholds."""

import math

import pytest
import torch
from torch import Tensor

from tests.rewriters.small_rotated_fcos import SIZE, small_rotated_fcos
from zoo.geometry.rotated import rotated_iou
from zoo.models.detection.rotated_fcos.head import decode, places
from zoo.models.detection.rotated_fcos.loss import gaussian_distance
from zoo.models.detection.rotated_fcos.targets import assigned, centerness, limits_of_places

EVERY = torch.tensor([[-1.0, torch.inf]])


class TestDecode:
    def test_a_box_by_hand(self) -> None:
        """4 to the left and 8 to the right of the place along the box's own x axis, which points down the image."""
        (box,) = decode(torch.tensor([[4.0, 1, 8, 5]]), torch.tensor([[math.pi / 2]]), torch.tensor([[20.0, 30]]))
        torch.testing.assert_close(box, torch.tensor([18.0, 32, 12, 6, math.pi / 2]))

    def test_it_inverts_the_targets(self) -> None:
        generator = torch.Generator().manual_seed(0)
        count = 200
        boxes = torch.rand(count, 5, generator=generator) * torch.tensor([200.0, 200, 60, 60, 6.28]) + 5
        part = torch.rand(count, 2, generator=generator) * 0.8 - 0.4  # of the sides, from the centre
        cosine, sine = torch.cos(boxes[:, 4]), torch.sin(boxes[:, 4])
        across, down = part[:, 0] * boxes[:, 2], part[:, 1] * boxes[:, 3]
        centers = boxes[:, :2] + torch.stack((across * cosine - down * sine, across * sine + down * cosine), dim=1)
        for center, box in zip(centers, boxes, strict=True):
            targets = assigned(center[None], torch.tensor([1e3]), EVERY, box[None])
            assert targets.objects.tolist() == [0]
            torch.testing.assert_close(decode(targets.sides, box[None, 4:], center[None])[0], box, atol=1e-3, rtol=0)


class TestTargets:
    boxes = torch.tensor([[40.0, 40, 40, 10, math.pi / 4], [40, 40, 8, 8, 0]])
    strides = torch.tensor([8.0])

    def index(self, x: float, y: float, strides: Tensor = strides, limits: Tensor = EVERY) -> int:
        return int(assigned(torch.tensor([[x, y]]), strides, limits, self.boxes).objects[0])

    def test_the_smallest_object_wins(self) -> None:
        assert self.index(40, 40) == 1

    def test_a_place_must_lie_in_the_turned_box(self) -> None:
        assert self.index(47, 47) == 0
        assert self.index(47, 33) == -1  # in the upright box around it

    def test_only_places_near_the_centre_learn(self) -> None:
        assert self.index(50, 50) == -1  # 14 along the box, more than 12
        assert self.index(50, 50, strides=torch.tensor([16.0])) == 0

    def test_each_level_has_its_lengths(self) -> None:
        limits = limits_of_places([1, 1, 1], (16, 64))
        assert limits.tolist() == [[-1, 16], [16, 64], [64, torch.inf]]
        assert [self.index(47, 47, limits=one[None]) for one in limits] == [-1, 0, -1]

    def test_no_objects(self) -> None:
        targets = assigned(torch.zeros(3, 2), self.strides.expand(3), EVERY.expand(3, 2), torch.zeros(0, 5))
        assert targets.objects.tolist() == [-1, -1, -1]

    def test_centerness(self) -> None:
        sides = torch.tensor([[5.0, 5, 5, 5], [1, 5, 4, 5], [0, 5, 9, 5]])
        torch.testing.assert_close(centerness(sides), torch.tensor([1.0, 0.5, 0.0]))


def test_places_are_centres_of_cells() -> None:
    first, second = places([torch.zeros(1, 1, 2, 3), torch.zeros(1, 1, 1, 1)], (8, 16))
    assert first.tolist() == [[4, 4], [12, 4], [20, 4], [4, 12], [12, 12], [20, 12]]
    assert second.tolist() == [[8, 8]]


class TestGaussianDistance:
    def test_the_same_rectangle_in_other_numbers_has_none(self) -> None:
        box = torch.tensor([[30.0, 20, 40, 10, 0.3]])
        for other in ([30.0, 20, 40, 10, 0.3 + math.pi], [30, 20, 10, 40, 0.3 + math.pi / 2]):
            assert gaussian_distance(box, torch.tensor([other])).item() == pytest.approx(0, abs=1e-4)

    def test_it_falls_towards_the_target_across_the_seam_of_the_angle(self) -> None:
        target = torch.tensor([[30.0, 20, 40, 10, -math.pi / 2]])
        turned = torch.tensor([[30.0, 20, 40, 10, math.pi / 2 + step] for step in (0.6, 0.3, 0.1, 0.02)])
        distances = gaussian_distance(turned, target.expand_as(turned))
        assert (distances.diff() < 0).all()

    def test_its_gradient_improves_the_overlap(self) -> None:
        target = torch.tensor([[30.0, 20, 40, 12, 0.9]])
        box = torch.tensor([[34.0, 17, 30, 20, 0.2]], requires_grad=True)
        optimizer = torch.optim.Adam([box], lr=0.1)
        before = rotated_iou(box.detach().numpy(), target.numpy())[0, 0]
        for _ in range(400):
            optimizer.zero_grad()
            gaussian_distance(box, target).sum().backward()
            optimizer.step()
        assert before < 0.4
        assert rotated_iou(box.detach().numpy(), target.numpy())[0, 0] > 0.95

    def test_a_box_without_any_extent_is_finite(self) -> None:
        box = torch.tensor([[30.0, 20, 0, 0, 0.2]], requires_grad=True)
        distance = gaussian_distance(box, torch.tensor([[30.0, 20, 40, 12, 0.9]]))
        distance.sum().backward()
        assert torch.isfinite(distance).all()
        assert box.grad is not None
        assert torch.isfinite(box.grad).all()


class TestPostprocessing:
    boxes = torch.tensor(
        [[20.0, 20, 20, 8, 0], [20, 20, 8, 20, math.pi / 2], [20, 20, 20, 8, math.pi / 2], [90, 9, 9, 9, 0]]
    )
    scores = torch.tensor([[0.9, 0.0], [0.8, 0.3], [0.2, 0.7], [0.1, 0.02]])

    def detections(self, **options: float) -> dict[str, Tensor]:
        model = small_rotated_fcos(num_classes=2, calibrated=False, **options)
        return model.postprocess_detections([self.boxes[None]], [self.scores[None]])[0]

    def test_each_class_by_itself(self) -> None:
        detections = self.detections(score_thresh=0.05, nms_thresh=0.5)
        assert detections["scores"].tolist() == pytest.approx([0.9, 0.7, 0.3, 0.2, 0.1])
        assert detections["labels"].tolist() == [0, 1, 1, 0, 0]

    def test_limits(self) -> None:
        assert self.detections(score_thresh=0.75, nms_thresh=0.5)["labels"].tolist() == [0]
        assert len(self.detections(score_thresh=0.05, nms_thresh=0.1)["labels"]) == 3  # a cross overlaps by 0.25
        assert len(self.detections(score_thresh=0.05, nms_thresh=0.5, detections_per_img=2)["labels"]) == 2
        assert len(self.detections(score_thresh=0.05, nms_thresh=1.0, topk_candidates=3)["labels"]) == 3

    def test_nothing(self) -> None:
        detections = self.detections(score_thresh=0.95)
        assert {name: tuple(value.shape) for name, value in detections.items()} == {
            "boxes": (0, 5),
            "scores": (0,),
            "labels": (0,),
        }


def test_a_batch_without_any_object_has_finite_losses() -> None:
    model = small_rotated_fcos().train()
    nothing = {"boxes": torch.zeros(0, 5), "labels": torch.zeros(0, dtype=torch.int64)}
    losses = model(torch.rand(2, 3, *SIZE), [nothing, nothing])
    sum(losses.values()).backward()
    assert all(torch.isfinite(loss) for loss in losses.values())
    assert losses["loss_box"] == 0


def test_training_without_targets_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="needs targets; call eval"):
        small_rotated_fcos().train()(torch.rand(1, 3, *SIZE))


def test_a_limit_between_any_two_levels() -> None:
    with pytest.raises(ValueError, match="got 1 limits, expected 3"):
        small_rotated_fcos(limits=(32,))


@pytest.mark.slow
def test_training_teaches_it_where_things_are() -> None:
    model = small_rotated_fcos(score_thresh=0.2).train()
    images = torch.rand(2, 3, *SIZE)
    targets = [
        {"boxes": torch.tensor([[28.0, 30, 34, 14, 0.6], [70, 34, 30, 18, -1.5]]), "labels": torch.tensor([0, 2])},
        {"boxes": torch.zeros(0, 5), "labels": torch.zeros(0, dtype=torch.int64)},
    ]
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(80):
        loss = sum(model(images, targets).values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 3
    # still with the statistics of this batch: the running ones follow within hundreds of steps
    features = list(model.backbone(images).values())
    head = model.head(features)
    detections = model.postprocess_detections(model.boxes(head, places(features, model.strides)), model.scores(head))[0]
    overlap = rotated_iou(targets[0]["boxes"].numpy(), detections["boxes"].detach().numpy())
    assert (overlap.max(axis=1) > 0.7).all()
    assert detections["labels"][overlap.argmax(axis=1)].tolist() == [0, 2]
