"""PointPillars and CenterPoint: the canvas by plain loops, codes and their inverse, targets, and losses that teach."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.rewriters.small_pillars import ANCHORS, NAMES, RANGE, SMALL, random_clouds, small_pillars
from zoo.build import build_section
from zoo.errors import InputError
from zoo.families import family_of
from zoo.models.pillars import CenterPoint, PointPillars
from zoo.models.pillars.anchor_losses import match, upright
from zoo.models.pillars.anchors import (
    ClassAnchor,
    anchor_boxes,
    decoded,
    directed,
    direction_margins,
    directions,
    encoded,
)
from zoo.models.pillars.center_losses import _codes, _draw_peaks, radii
from zoo.models.pillars.center_point import CenterMaps
from zoo.models.pillars.encoder import PillarEncoder
from zoo.models.pillars.grid import PillarGrid

TARGET = {
    "boxes": torch.tensor([[3.0, 1.0, -0.5, 3.1, 1.6, 1.5, 0.3], [7.0, -2.0, -0.4, 0.8, 0.6, 1.7, -2.0]]),
    "labels": torch.tensor([0, 1]),
}


def random_boxes(count: int, seed: int = 0) -> Tensor:
    random = np.random.default_rng(seed)
    low = [0.5, -4.5, -1, 0.5, 0.5, 1, -math.pi]
    return torch.from_numpy(random.uniform(low, [9.5, 4.5, 1, 4, 2, 2, math.pi], (count, 7)).astype(np.float32))


def by_loops(encoder: PillarEncoder, cloud: Tensor) -> np.ndarray:
    """The canvas of one cloud, pillar by pillar."""
    grid = encoder.grid
    canvas = np.zeros((encoder.channels, grid.rows, grid.columns), np.float32)
    points: dict[tuple[int, int], list[np.ndarray]] = {}
    for point in cloud.numpy().astype(np.float64):
        column, row = (math.floor((point[axis] - grid.low[axis]) / grid.side) for axis in (0, 1))
        if all(grid.low[axis] <= point[axis] < grid.high[axis] for axis in range(3)):
            points.setdefault((row, column), []).append(point)
    for (row, column), members in points.items():
        mean = np.mean(members, axis=0)[:3]
        center = [(place + 0.5) * grid.side + grid.low[axis] for axis, place in enumerate((column, row))]
        rows = [np.concatenate((point, point[:3] - mean, point[:2] - center)) for point in members]
        with torch.no_grad():
            features = encoder.features(torch.tensor(np.stack(rows), dtype=torch.float32))
        canvas[:, row, column] = features.amax(dim=0).numpy()
    return canvas


def test_the_canvas_is_what_plain_loops_give() -> None:
    model = small_pillars("PointPillars")
    clouds = random_clouds(2, 150, 3)
    with torch.no_grad():
        canvas = model.encoder(clouds).numpy()
    assert (canvas != 0).any()
    for of_cloud, cloud in zip(canvas, clouds, strict=True):
        np.testing.assert_allclose(of_cloud, by_loops(model.encoder, cloud), atol=2e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_is_its_clouds_in_any_order_of_their_points(name: str) -> None:
    model = small_pillars(name)
    clouds = [*random_clouds(2, 300, 5), torch.zeros(0, 4)]
    with torch.no_grad():
        together = model(clouds)
        alone = [model([cloud[torch.randperm(len(cloud))]])[0] for cloud in clouds]
    assert len(together[0]["scores"])
    for one, other in zip(together, alone, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=0)


@pytest.mark.parametrize("name", NAMES)
def test_detections_are_sorted_apart_and_limited(name: str) -> None:
    model = small_pillars(name, detections_per_img=3)
    with torch.no_grad():
        detections = model(random_clouds(3, 300, 6))
    assert max(len(one["scores"]) for one in detections) == 3
    for one in detections:
        assert (one["scores"].diff() <= 0).all()
        assert (one["scores"] > model.score_thresh).all()
        assert ((one["boxes"][:, 6] >= -math.pi) & (one["boxes"][:, 6] < math.pi)).all()
        assert (one["boxes"][:, 3:6] > 0).all()


def test_codes_and_their_inverse() -> None:
    boxes = random_boxes(50)
    anchors = anchor_boxes(PillarGrid.of_range(RANGE, 0.64), 2, [ClassAnchor(**one) for one in ANCHORS])
    assert anchors.shape == (8 * 8 * 3 * 2, 7)
    near = anchors[torch.randint(len(anchors), (50,), generator=torch.Generator().manual_seed(0))]
    torch.testing.assert_close(decoded(encoded(boxes, near), near), boxes, atol=1e-4, rtol=0)


def test_the_direction_says_which_half_turn() -> None:
    """Whatever half turn the code has, the right direction gives the yaw back, in [-pi, pi)."""
    boxes = random_boxes(200, 1)
    wrong = boxes + torch.tensor([0, 0, 0, 0, 0, 0, math.pi]) * torch.randint(-3, 4, (200, 1))
    logits = torch.nn.functional.one_hot(directions(boxes[:, 6]), 2).float()
    turned = directed(wrong, logits)
    away = (turned[:, 6] - boxes[:, 6]).remainder(2 * math.pi)
    assert torch.minimum(away, 2 * math.pi - away).max() < 1e-4
    assert ((turned[:, 6] >= -math.pi) & (turned[:, 6] < math.pi)).all()
    opposite = directed(wrong, logits.flip(1))
    assert ((opposite[:, 6] - turned[:, 6]).abs() - math.pi).abs().max() < 1e-4


def test_the_margin_of_a_direction() -> None:
    boxes = torch.zeros(3, 7)
    boxes[:, 6] = torch.tensor([0.0, math.pi / 4 + 1e-3, 0.0])
    logits = torch.tensor([[0.0, 0.2], [0.0, 5.0], [3.0, 0.0]])
    torch.testing.assert_close(
        direction_margins(boxes, logits), torch.tensor([0.2, 1e-3, math.pi / 4]), atol=1e-6, rtol=0
    )


def test_anchors_learn_the_objects_they_overlap() -> None:
    classes = [ClassAnchor(**one) for one in ANCHORS]
    anchors = anchor_boxes(PillarGrid.of_range(RANGE, 0.64), 2, classes)
    boxes, labels = torch.cat((anchors[[10 * 6, 25 * 6 + 3]], anchors[[40 * 6]] + 0.3)), torch.tensor([0, 1, 2])
    matches = match(anchors, classes, boxes, labels)
    learned = matches.learns.nonzero()[:, 0].tolist()
    assert {60, 153} <= set(learned)
    assert matches.target[60] == 0
    assert matches.target[153] == 1
    assert set(matches.target[matches.learns].tolist()) == {0, 1, 2}  # the third, which overlaps too little, as well
    assert (torch.tensor(learned) // 2 % 3).equal(labels[matches.target[learned]])
    assert (matches.counts | ~matches.learns).all()


def test_objects_from_above_at_the_nearest_axis() -> None:
    boxes = torch.tensor([[1.0, 2, 0, 4, 2, 1, 0.2], [1.0, 2, 0, 4, 2, 1, 1.5], [1.0, 2, 0, 4, 2, 1, -3.0]])
    lying, standing = [-1.0, 1, 3, 3], [0.0, 0, 2, 4]
    assert upright(boxes).tolist() == [lying, standing, lying]


def test_a_cell_gives_its_object_back() -> None:
    model: Any = CenterPoint(head_channels=8, nms_thresh=0.2, **SMALL)
    boxes = random_boxes(6, 4)
    boxes[:, 0] = torch.arange(6) * 1.6 + 0.5  # apart
    place = (boxes[:, :2] - torch.tensor(model.low)) / model.cell
    corner = place.floor().long()
    heatmap, codes = torch.full((1, 3, 8, 8), -9.0), torch.zeros(1, 8, 8, 8)
    for index in range(6):
        heatmap[0, index % 3, corner[index, 1], corner[index, 0]] = 1.0 + 0.1 * index
        codes[0, :, corner[index, 1], corner[index, 0]] = _codes(boxes, place - corner)[index]
    (detections,) = model.postprocess_detections(*CenterMaps(heatmap, *codes.split((2, 1, 3, 2), dim=1)))
    assert detections["labels"].tolist() == [5 % 3, 4 % 3, 0, 2, 1, 0]
    torch.testing.assert_close(detections["boxes"], boxes.flip(0), atol=1e-5, rtol=0)


def test_a_peak_is_one_at_its_cell_and_falls_around_it() -> None:
    peaks = torch.zeros(2, 9, 9)
    _draw_peaks(peaks, torch.tensor([[4, 3], [6, 3]]), torch.tensor([1, 1]), torch.tensor([2.0, 2.0]))
    assert not peaks[0].any()
    assert peaks[1, 3, 4] == peaks[1, 3, 6] == 1
    assert peaks[1, 3, 5] == pytest.approx(math.exp(-1 / (2 * (5 / 6) ** 2)))
    assert not peaks[1, 6:].any()
    assert radii(torch.tensor([[2.0, 1.0], [60.0, 30.0]]))[0] == 2
    assert radii(torch.tensor([[60.0, 30.0]]))[0] > 2


@pytest.mark.parametrize("name", NAMES)
def test_the_losses_teach(name: str) -> None:
    model = small_pillars(name).train()
    clouds, targets = random_clouds(2, 200, 9), [TARGET, {"boxes": torch.zeros(0, 7), "labels": TARGET["labels"][:0]}]
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    totals = []
    for _ in range(30):
        losses = family_of(model).losses(model, {"points": clouds, "targets": targets})
        total: Any = sum(losses.values())
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        totals.append({name: float(loss.detach()) for name, loss in losses.items()})
    assert all(math.isfinite(loss) for one in totals for loss in one.values())
    assert sum(totals[-1].values()) < 0.5 * sum(totals[0].values())
    assert totals[-1]["loss_box"] < totals[0]["loss_box"]


@pytest.mark.parametrize("name", NAMES)
def test_training_needs_targets(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} in training mode needs targets; call eval"):
        small_pillars(name).train()(random_clouds(2, 50))


def test_a_range_of_half_a_pillar_is_refused() -> None:
    with pytest.raises(InputError, match=r"point_range: x from 0 to 10.5 is 16.4062 pillars of 0.64 m; give a range"):
        PointPillars(point_range=(0, -5.12, -2, 10.5, 5.12, 2), pillar_size=0.64)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pillar_size": 0}, "pillar_size: got 0, expected the side of a pillar, more than 0 metres"),
        ({"pillar_size": math.inf}, "pillar_size: got inf, expected the side"),
        ({"strides": (2, 0)}, "strides: got (2, 0), expected integers, 1 or more"),
        ({"strides": (2, 0.5)}, "strides: got (2, 0.5), expected integers"),
        ({"point_range": RANGE[:5]}, "point_range: got (0.0, -5.12, -2.0, 10.24, 5.12), expected 6 finite numbers"),
        ({"point_range": (*RANGE[:5], math.nan)}, "expected 6 finite numbers: lowest x y z, then highest, metres"),
        ({"topk_candidates": 0}, "topk_candidates: got 0, expected an integer, 1 or more"),
        ({"detections_per_img": 0}, "detections_per_img: got 0, expected an integer"),
        ({"detections_per_img": 2.5}, "detections_per_img: got 2.5, expected an integer"),
        ({"nms_thresh": -1}, "nms_thresh: got -1, expected a number from 0 to 1"),
        ({"score_thresh": math.nan}, "score_thresh: got nan, expected a number from 0 to 1"),
    ],
)
@pytest.mark.parametrize("kind", NAMES)
def test_numbers_that_fit_no_model_are_refused_when_it_is_built(kind: str, options: Any, message: str) -> None:
    own = {"anchors": ANCHORS} if kind == "PointPillars" else {}
    with pytest.raises(InputError) as caught:
        build_section({"type": kind, **SMALL, **own, **options})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("model", [PointPillars, CenterPoint])
def test_a_grid_that_the_strides_do_not_divide_is_refused(model: Any) -> None:
    """Needed: a convolution rounds the number of cells up, and a box would be taken for one of another row."""
    options = {"point_range": (0, -5.12, -2, 9.6, 5.12, 2), "pillar_size": 0.64, "channels": (8, 8), "depths": (1, 1)}
    with pytest.raises(InputError, match=r"15 x 16 pillars of 0.64 m .* product of the strides, 4; give another range"):
        model(strides=(2, 2), up_channels=(8, 8), **options)
    with pytest.raises(InputError, match="product of the strides, 2;"):  # the maps of two blocks, which are joined
        model(strides=(1, 2), up_channels=(8, 8), **options)


def test_a_number_of_anchors_that_is_not_that_of_the_classes_is_refused() -> None:
    with pytest.raises(InputError, match="anchors: got 3, expected one of each class, num_classes=5"):
        PointPillars(num_classes=5)


def test_a_key_that_anchors_do_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match="match"):
        PointPillars(num_classes=1, anchors=[ANCHORS[0] | {"match": 0.7}])


def test_the_papers_sizes() -> None:
    """PointPillars of KITTI: OpenPCDet's and mmdetection3d's have 4.8 million parameters."""
    model = PointPillars()
    assert (model.encoder.grid.rows, model.encoder.grid.columns) == (496, 432)
    assert len(model.anchors) == 248 * 216 * 6
    assert sum(parameter.numel() for parameter in model.parameters()) == pytest.approx(4.83e6, rel=0.01)


@pytest.mark.parametrize("name", NAMES)
def test_points_near_an_edge_are_tried_in_the_neighbouring_pillar(name: str) -> None:
    model = small_pillars(name)
    clouds = random_clouds(2, 200, 10)
    with torch.no_grad():
        assert not list(family_of(model).other_choices(model, lambda: model(clouds), 0.0))
        clouds[1][5:7, 0] = torch.tensor([0.64 * 3 - 2e-5, 0.64 * 5 + 2e-5])
        clouds[1][5:7, 1:3] = 0.1
        canvas = model.encoder(clouds)
        choices = [
            (number, reason, run())
            for number, reason, run in family_of(model).other_choices(model, lambda: model.encoder(clouds), 0.0)
        ]
        moved = clouds[1].clone()
        moved[5:7, 0] = torch.tensor([0.64 * 3 + 2e-5, 0.64 * 5 - 2e-5])
        over_the_edge = model.encoder([clouds[0], moved])
    assert [(number, reason) for number, reason, _ in choices] == [
        (1, "2 points are within 0.0001 m of a pillar's edge"),
        (1, "one point is within 0.0001 m of a pillar's edge"),
        (1, "one point is within 0.0001 m of a pillar's edge"),
    ]
    torch.testing.assert_close(choices[0][2], over_the_edge, atol=1e-3, rtol=0)
    assert all((other - canvas).abs().max() > 1e-2 for _, _, other in choices)
    assert "places" not in vars(model.encoder)


def test_points_outside_of_the_range_have_no_other_places_and_those_on_its_last_edge_do() -> None:
    model = small_pillars("PointPillars")
    clouds = random_clouds(1, 50, 10)
    outside = torch.tensor(
        [[0.64 * 3, 100, 0, 0], [0.64 * 3, 0.1, 9, 0], [0.64 * 3, 0.1, 0, torch.nan], [-1e-5, 1, 0, 0]]
    )
    last = torch.tensor([[0.3, np.nextafter(np.float32(5.12), np.float32(0)), 0, 0]])  # 5.12 + 5.12 in the grid's frame
    grid = model.encoder.grid
    with torch.no_grad():
        clouds[0] = torch.cat((clouds[0], outside))
        assert not list(family_of(model).other_choices(model, lambda: model(clouds), 0.0))
        canvas = model.encoder(clouds)
        clouds[0] = torch.cat((clouds[0], last))
        assert grid.in_range(last).all()
        assert not grid.places(last)[2].any()
        ((_, _, run),) = family_of(model).other_choices(model, lambda: model.encoder(clouds), 0.0)
        inside = run()
    assert ((inside - canvas)[0].abs().amax(dim=0) > 0).nonzero().tolist() == [[15, 0]]
