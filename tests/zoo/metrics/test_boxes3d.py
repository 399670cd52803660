import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.examples import slow_but
from tests.zoo.metrics.plain_kitti import plain_ap, plain_centre_ap
from zoo.errors import InputError
from zoo.kitti import IMAGE_SIZE, NOMINAL
from zoo.metrics import CentreDistanceMAP, KittiAP, build_metric
from zoo.metrics.kitti_ap import LEVELS, OVERLAPS, _in_image
from zoo.tasks import ClassInfo
from zoo.tasks.detection3d import Detection3D, Detection3DResult

CLASSES = ("car", "pedestrian", "cyclist")
DISTANCES = (0.5, 1.0, 2.0, 4.0)


def random_scene(rng, *, most=6):
    """Objects, of which most are found, some twice, some as another class; and detections of nothing."""
    count = int(rng.integers(0, most))
    boxes = np.concatenate(
        (
            rng.uniform((6, -12, -1.5), (45, 12, -0.5), (count, 3)),
            rng.uniform((0.6, 0.5, 1.4), (4.2, 1.8, 1.9), (count, 3)),
            rng.uniform(-3.1, 3.1, (count, 1)),
        ),
        axis=1,
    ).astype(np.float32)
    labels = rng.integers(0, len(CLASSES), count)
    difficulty = rng.integers(-1, 3, count)
    hits = np.flatnonzero(rng.random(count) < 0.8)
    again = hits[rng.random(len(hits)) < 0.3]
    chosen = np.concatenate((hits, again))
    spread = np.array([0.25, 0.25, 0.1, 0.15, 0.05, 0.05, 0.1], np.float32) * rng.uniform(0.05, 1.2, (len(chosen), 1))
    found = boxes[chosen] + (spread * rng.normal(size=(len(chosen), 7))).astype(np.float32)
    ids = np.where(rng.random(len(chosen)) < 0.9, labels[chosen], rng.integers(0, 3, len(chosen)))
    nothing = int(rng.integers(0, 4))
    found = np.concatenate((found, found[:0], rng.uniform(5, 40, (nothing, 7)).astype(np.float32)))
    found[len(chosen) :, 1:3] -= 20
    found[len(chosen) :, 3:6] = (1.8, 0.7, 1.7)
    ids = np.concatenate((ids, rng.integers(0, 3, nothing)))
    scores = rng.permutation(np.linspace(0.05, 0.95, 60) + rng.uniform(0, 0.01))[: len(found)].astype(np.float32)
    item = {"boxes": boxes, "labels": labels, "difficulty": difficulty}
    return item, {"boxes": found, "scores": scores, "labels": ids}


def plain_form(item, result):
    heights, inside = _in_image(result["boxes"], item)
    truth = (item["boxes"].astype(np.float64), item["labels"], item["difficulty"])
    return (*truth, result["boxes"][inside].astype(np.float64), result["scores"][inside].astype(np.float64),
            result["labels"][inside], heights[inside])  # fmt: skip


def metric_of(kind, scenes):
    metric = build_metric({"type": kind})
    for item, result in scenes:
        metric.process([item], [result])
    return metric, metric.evaluate(len(scenes))


@pytest.mark.parametrize("seed", slow_but(range(4), 0))
@pytest.mark.parametrize("image", [False, True])
def test_kitti_ap_is_the_plain_one(seed, image):
    rng = np.random.default_rng(seed)
    scenes = [random_scene(rng) for _ in range(12)]
    if image:
        scenes = [({**item, "calibration": NOMINAL, "image_size": IMAGE_SIZE}, result) for item, result in scenes]
    _, figures = metric_of("KittiAP", scenes)
    plain = [plain_form(*scene) for scene in scenes]
    compared = 0
    for name in OVERLAPS:
        for level, words in enumerate(LEVELS):
            points = [
                100 * plain_ap(plain, label, level, least, in_space=name == "3D")
                for label, least in enumerate((0.7, 0.5, 0.5))
            ]
            for kind, expected in zip(CLASSES, points, strict=True):
                assert figures[f"kitti/{kind}_{name}_{words}"] == pytest.approx(expected, abs=1e-9, nan_ok=True)
                compared += 0 < expected < 100
            mean = np.nanmean(points) if np.isfinite(points).any() else np.nan
            assert figures[f"kitti/{name}_{words}"] == pytest.approx(mean, abs=1e-9, nan_ok=True)
    assert compared > 5


@pytest.mark.parametrize("objects", [40, 45, 59, 60])
def test_from_sixty_objects_on_it_is_the_development_kits(objects):
    rng = np.random.default_rng(4)
    scenes = [random_scene(rng, most=16) for _ in range(32)]
    left = objects
    for item, _ in scenes:
        counting = (item["labels"] == 0) & ((item["labels"] == 0).cumsum() <= left)
        item["difficulty"] = np.where(counting, item["difficulty"].clip(0, 1), -1)
        left -= counting.sum()
    assert left == 0
    _, figures = metric_of("KittiAP", scenes)
    plain = [plain_form(*scene) for scene in scenes]
    kits, ours = (100 * plain_ap(plain, 0, 1, 0.7, in_space=True, as_the_kit=kit) for kit in (True, False))
    assert 1 < ours < 99
    assert figures["kitti/car_3D_moderate"] == pytest.approx(ours, abs=1e-9)
    assert (kits == pytest.approx(ours, abs=1e-9)) == (objects >= 60)


@pytest.mark.parametrize("kind", ["KittiAP", "CentreDistanceMAP"])
def test_a_draw_is_the_figure_of_its_clouds_written_out(kind):
    rng = np.random.default_rng(7)
    metric, _ = metric_of(kind, [random_scene(rng) for _ in range(10)])
    counts = rng.multinomial(10, np.full(10, 0.1), 12)
    counts[0] = 0
    draws = metric.resampled(metric.per_image, counts)
    for draw, points in zip(counts, draws, strict=True):
        written_out = [metric.per_image[place] for place in np.repeat(np.arange(10), draw)]
        assert points == pytest.approx(metric.figures(written_out)[metric.main], abs=1e-9, nan_ok=True)
    assert np.isnan(draws[0])


@pytest.mark.parametrize("seed", range(4))
def test_centre_distance_is_the_plain_one(seed):
    rng = np.random.default_rng(seed)
    scenes = [random_scene(rng) for _ in range(12)]
    _, figures = metric_of("CentreDistanceMAP", scenes)
    plain = [plain_form(*scene) for scene in scenes]
    labels = np.unique(np.concatenate([item["labels"] for item, _ in scenes]))
    points = np.array([[plain_centre_ap(plain, label, distance) for label in labels] for distance in DISTANCES]) * 100
    for distance, row in zip(DISTANCES, points, strict=True):
        assert figures[f"nuscenes/AP_{distance:g}m"] == pytest.approx(row.mean(), abs=1e-9)
    assert figures["nuscenes/mAP"] == pytest.approx(points.mean(), abs=1e-9)
    assert 5 < points.mean() < 95


def test_centre_distance_is_the_nuscenes_devkits():
    algo = pytest.importorskip(
        "nuscenes.eval.detection.algo",
        reason="nuscenes-devkit is not installed; make test-all does, see DEVKIT in the Makefile",
    )
    from nuscenes.eval.common.data_classes import EvalBoxes
    from nuscenes.eval.common.utils import center_distance
    from nuscenes.eval.detection.data_classes import DetectionBox

    rng = np.random.default_rng(3)
    scenes = [random_scene(rng) for _ in range(20)]
    _, figures = metric_of("CentreDistanceMAP", scenes)

    def boxes_of(records):
        boxes = EvalBoxes()
        for number, (places, labels, scores) in enumerate(records):
            boxes.add_boxes(
                str(number),
                [
                    DetectionBox(
                        str(number),
                        tuple(map(float, box[:3])),
                        tuple(map(float, box[3:6])),
                        (1.0, 0.0, 0.0, 0.0),
                        detection_name=CLASSES[label].replace("cyclist", "bicycle"),
                        detection_score=float(score),
                    )
                    for box, label, score in zip(places, labels, scores, strict=True)
                ],
            )
        return boxes

    truth = boxes_of([(item["boxes"], item["labels"], np.full(len(item["boxes"]), -1.0)) for item, _ in scenes])
    found = boxes_of([(result["boxes"], result["labels"], result["scores"]) for _, result in scenes])
    for distance in DISTANCES:
        points = [
            100 * algo.calc_ap(algo.accumulate(truth, found, name, center_distance, distance), 0.1, 0.1)
            for name in ("car", "pedestrian", "bicycle")
        ]
        assert figures[f"nuscenes/AP_{distance:g}m"] == pytest.approx(np.mean(points), abs=1e-6)


def one_car(**changes):
    box = np.array([[20.0, 0, -1, 4, 1.6, 1.5, 0.3]], np.float32)
    item = {"boxes": box, "labels": np.array([0]), "difficulty": np.array([0])} | changes
    return item, {"boxes": box.copy(), "scores": np.array([0.9], np.float32), "labels": np.array([0])}


def test_what_is_found_exactly_is_all_points():
    _, figures = metric_of("KittiAP", [one_car()] * 3)
    assert figures["kitti/3D_moderate"] == figures["kitti/car_BEV_hard"] == 100
    assert np.isnan(figures["kitti/cyclist_3D_easy"])
    _, figures = metric_of("CentreDistanceMAP", [one_car()] * 3)
    assert figures["nuscenes/mAP"] == pytest.approx(100)


def test_one_of_many_is_nearest_to_no_recall_that_counts():
    item, result = one_car()
    _, figures = metric_of(
        "KittiAP", [(item, result)] + [(item, {key: value[:0] for key, value in result.items()})] * 59
    )
    assert figures["kitti/car_3D_moderate"] == 0


def test_an_object_that_is_too_hard_is_neither_missed_nor_wrong():
    easy, hard = one_car(), one_car(difficulty=np.array([2]))
    _, figures = metric_of("KittiAP", [easy, hard])
    assert figures["kitti/3D_easy"] == figures["kitti/3D_hard"] == 100


def test_a_detection_that_is_low_in_the_image_is_not_wrong():
    item, result = one_car(calibration=NOMINAL, image_size=IMAGE_SIZE)
    far = np.array([[70.0, 5, -1, 1.8, 0.6, 1.7, 0]], np.float32)  # 18 pixels
    result = {
        "boxes": np.concatenate((result["boxes"], far)),
        "scores": np.array([0.5, 0.9], np.float32),
        "labels": np.array([0, 0]),
    }
    _, figures = metric_of("KittiAP", [(item, result)])
    assert figures["kitti/3D_moderate"] == 100
    plain = {key: value for key, value in item.items() if key in ("boxes", "labels", "difficulty")}
    _, figures = metric_of("KittiAP", [(plain, result)])
    assert figures["kitti/3D_moderate"] == 50


@pytest.mark.parametrize(
    "unseen",
    [
        (-10.0, 0, -0.5, 4, 1.6, 2.5, 0),  # behind the camera
        (3.0, 40, -1, 4, 1.6, 1.5, 0),  # beside the image
    ],
)
def test_a_detection_outside_of_the_image_is_left_out(unseen):
    item, result = one_car(calibration=NOMINAL, image_size=IMAGE_SIZE)
    result = {
        "boxes": np.concatenate((result["boxes"], np.array([unseen], np.float32))),
        "scores": np.array([0.5, 0.9], np.float32),
        "labels": np.array([0, 0]),
    }
    _, figures = metric_of("KittiAP", [(item, result)])
    assert figures["kitti/3D_moderate"] == 100


def test_a_box_turned_round_is_as_right_and_a_box_in_the_air_is_right_from_above():
    item, result = one_car()
    result["boxes"][0, 6] += np.float32(np.pi)
    _, figures = metric_of("KittiAP", [(item, result)])
    assert figures["kitti/3D_easy"] == 100
    result["boxes"][0, 2] += 1
    _, figures = metric_of("KittiAP", [(item, result)])
    assert (figures["kitti/3D_easy"], figures["kitti/BEV_easy"]) == (0, 100)


def test_neighbours_do_not_count_for_centre_distance():
    item, result = one_car(difficult=np.array([True]))
    _, figures = metric_of("CentreDistanceMAP", [one_car(), (item, {key: value[:0] for key, value in result.items()})])
    assert figures["nuscenes/mAP"] == pytest.approx(100)


@given(st.integers(0, 10_000))
@example(1746)  # every class at its best, where rounding may give more than 100
def test_points_are_points(seed):
    rng = np.random.default_rng(seed)
    for kind in ("KittiAP", "CentreDistanceMAP"):
        _, figures = metric_of(kind, [random_scene(rng, most=4) for _ in range(3)])
        assert all(np.isnan(value) or 0 <= value <= 100 for value in figures.values())


def result_of(names, labels=(0,)):
    """A car, found exactly, by a task with classes of these names."""
    item, found = one_car()
    arrays = {name: np.repeat(array, len(labels), axis=0) for name, array in found.items()} | {"labels": labels}
    return item, Detection3DResult(**arrays).of_task(Detection3D([ClassInfo(name, None) for name in names]), None)


def test_classes_of_another_task_are_refused():
    metric = KittiAP()
    metric.entry(*result_of(("Car", "Pedestrian", "Cyclist")))
    for names in (("cyclist", "car", "pedestrian"), (*CLASSES, "van"), CLASSES[:2]):
        with pytest.raises(
            InputError, match="got the classes car, pedestrian, cyclist, but those of the task are"
        ) as e:
            metric.entry(*result_of(names))
        assert f"{', '.join(names)}; give the evaluator classes=" in str(e.value)
    KittiAP(classes=("cyclist", "car"), iou=(0.5, 0.7)).entry(*result_of(("cyclist", "car")))


def test_labels_without_a_class_are_refused():
    item, result = one_car()
    for labels in (np.array([3]), np.array([-1])):
        with pytest.raises(InputError, match=r"KittiAP: got labels .*, expected 0 to 2, of car, pedestrian, cyclist"):
            KittiAP().entry(item, result | {"labels": labels})
    with pytest.raises(InputError, match="KittiAP: got labels 0 to 3, expected 0 to 2"):
        KittiAP().entry(item | {"labels": np.array([3])}, result)


def test_a_field_that_is_missing_and_a_wrong_overlap_are_named():
    item, result = one_car()
    with pytest.raises(InputError, match='KittiAP needs "difficulty"'):
        KittiAP().entry({key: item[key] for key in ("boxes", "labels")}, result)
    with pytest.raises(InputError, match=r"KittiAP: got iou \(0\.7,\) for the classes car, van"):
        KittiAP(classes=("car", "van"), iou=(0.7,))
    with pytest.raises(InputError, match='CentreDistanceMAP needs "boxes"'):
        CentreDistanceMAP().entry({}, result)
