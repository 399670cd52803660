import pickle

import numpy as np
import pytest

from zoo.datasets import Streets
from zoo.datasets.streets import splits
from zoo.datasets.streets.objects import CLASSES
from zoo.datasets.streets.scene import FEWEST_POINTS, make_scene, points_inside
from zoo.datasets.streets.stored import SCENES, read_scene, scene_bytes
from zoo.datasets.streets.surfaces import SURFACES
from zoo.errors import InputError
from zoo.tasks import ClassInfo

NAMES = [ClassInfo(name, None) for name in CLASSES]
PARTS = ("points", "boxes", "labels", "occlusions", "difficulty")


@pytest.fixture(scope="module")
def scenes():
    return [make_scene("train", index) for index in range(6)]


def test_a_scene_is_what_the_sensor_would_see(scenes):
    for scene in scenes:
        points = scene.points
        assert 8000 < len(points) < 64 * 282
        assert points.dtype == np.float32
        assert np.isfinite(points).all()
        assert np.linalg.norm(points[:, :3], axis=1).max() < 45.2
        assert ((points[:, 3] >= 0) & (points[:, 3] <= 1)).all()
        assert np.abs(np.arctan2(points[:, 1], points[:, 0])).max() < np.deg2rad(46)
        ground = np.abs(points[:, 2] + 1.73) < 0.5
        assert ground.mean() > 0.3


def test_every_label_has_points_and_every_class_comes(scenes):
    for scene in scenes:
        for box in scene.boxes:
            assert points_inside(scene.points, box).sum() >= FEWEST_POINTS
            assert -np.pi <= box[6] < np.pi
            bottom = box[2] - box[5] / 2
            assert abs(bottom + 1.73) < 1.0  # on the ground, which may slope
    assert set(np.concatenate([scene.labels for scene in scenes]).tolist()) == {0, 1, 2}
    assert {0, 1} <= set(np.concatenate([scene.difficulty for scene in scenes]).tolist())


def test_boxes_are_tight_around_their_points(scenes):
    """Few points are just outside of a box, above the ground: its own bodies are inside of it."""
    inside, around = 0, 0
    for scene in scenes:
        for box in scene.boxes:
            high = scene.points[scene.points[:, 2] > box[2] - box[5] / 2 + 0.25]
            own = points_inside(high, box).sum()
            inside += own
            around += points_inside(high, box, margin=0.2).sum() - own
    assert around < 0.05 * inside


def test_no_point_is_on_a_whole_centimetre(scenes):
    """Cells of models end there, where a rounding decides which side a point is on."""
    for scene in scenes:
        parts = np.abs((scene.points[:, :3].astype(np.float64) * 100) % 1 - 0.5)
        assert parts.max() < 0.01


def test_a_scene_is_the_same_on_every_run_and_another_in_another_split():
    first, again, other = make_scene("gate", 3), make_scene("gate", 3), make_scene("train", 3)
    for name in PARTS:
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert first.points.shape != other.points.shape or not np.array_equal(first.points, other.points)


def test_a_stored_scene_is_the_scene(tmp_path, scenes):
    for scene in scenes[:2]:
        path = tmp_path / "scene.npz"
        path.write_bytes(scene_bytes(scene))
        back = read_scene(path)
        for name in PARTS:
            assert getattr(back, name).dtype == getattr(scene, name).dtype
            np.testing.assert_array_equal(getattr(back, name), getattr(scene, name))
        assert path.stat().st_size < 90_000


BROKEN = {
    "another file": lambda _: b"broken",
    "cut": lambda content: content[: len(content) // 2],
    "damaged": lambda content: content[: len(content) // 2] + bytes(200) + content[len(content) // 2 + 200 :],
}


@pytest.mark.parametrize("damage", BROKEN.values(), ids=BROKEN)
def test_a_broken_scene_is_named(tmp_path, damage):
    path = tmp_path / "000000.npz"
    path.write_bytes(damage((splits.split_folder("shipped") / "000000.npz").read_bytes()))
    with pytest.raises(InputError, match=r"000000\.npz: not a scene of the data set streets .*; make the split again"):
        read_scene(path)


@pytest.mark.parametrize("surface", SURFACES)
def test_rays_meet_a_surface_where_they_should(surface):
    half, origin = np.array([2.0, 1.0, 1.5]), np.array([-10.0, 0, 0])
    rays = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [1, 0.5, 0]])
    hits = SURFACES[surface](origin, rays / np.linalg.norm(rays, axis=1, keepdims=True), half)
    assert hits[0] == pytest.approx(8)
    assert np.isinf(hits[1:]).all()


def test_shipped_scenes_are_in_the_repository():
    dataset = Streets(classes=NAMES)
    assert len(dataset) == 16
    assert sum(path.stat().st_size for path in splits.split_folder("shipped").iterdir()) < 4_000_000
    item = dataset[5]
    assert set(item) == {*("points", "image_id", "path", "boxes", "labels", "difficulty", "calibration", "image_size")}
    assert item["image_id"] == 5
    assert len(item["boxes"]) == len(item["labels"]) == len(item["difficulty"]) > 0
    facts = (splits.split_folder("shipped") / SCENES).read_text(encoding="utf-8")
    assert "synthetic" in facts


def test_labels_are_those_of_the_task():
    turned = Streets(classes=[ClassInfo("cyclist", None), ClassInfo("car", None), ClassInfo("pedestrian", None)])
    plain = Streets(classes=NAMES)
    assert [CLASSES[label] for label in plain.truth(0)["labels"]] == [
        turned.classes[label].name for label in turned.truth(0)["labels"]
    ]
    with pytest.raises(InputError, match="the task has no class cyclist; its scenes have car, pedestrian, cyclist"):
        Streets(classes=NAMES[:2])


def test_training_scenes_are_made_when_they_are_asked_for():
    dataset = Streets("train", 5, classes=NAMES)
    assert len(dataset) == 5
    np.testing.assert_array_equal(dataset[4]["points"], make_scene("train", 4).points)
    again = pickle.loads(pickle.dumps(dataset))  # as a loader's workers have it
    np.testing.assert_array_equal(again[1]["boxes"], dataset[1]["boxes"])
    with pytest.raises(InputError, match="got count 0, expected 1 or more scenes"):
        Streets("train", 0, classes=NAMES)
    with pytest.raises(InputError, match="got count 17, expected 1 to 16 scenes"):
        Streets("shipped", 17, classes=NAMES)


def test_the_gate_split_is_made_once(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(splits.SIZES, "gate", 2)
    with pytest.raises(InputError, match=r"make it with python tools/make_streets\.py gate$"):
        Streets("gate", classes=NAMES)
    steps = []
    Streets.prepare({"split": "gate"}, lambda *step: steps.append(step))
    assert steps == [("gate split", 1, 2), ("gate split", 2, 2)]
    Streets.prepare({"split": "gate"}, lambda *_: pytest.fail("made again"))
    assert len(Streets("gate", classes=NAMES)) == 2
    with pytest.raises(InputError, match='unknown split "gates" of streets; nearest: "gate"'):
        Streets("gates", classes=NAMES)


def test_the_shipped_scenes_are_those_of_the_simulator():
    """Made on another CPU, a few points may be in the next centimetre, and a few rays may end elsewhere."""
    scene, stored = make_scene("shipped", 7), read_scene(splits.split_folder("shipped") / "000007.npz")
    np.testing.assert_allclose(stored.boxes, scene.boxes, atol=1e-4)
    cells, ours = (set(map(tuple, np.floor(each.points[:, :3] * 100).astype(int).tolist())) for each in (stored, scene))
    assert len(cells & ours) > 0.99 * max(len(cells), len(ours))
