"""A detector of point clouds learns from synthetic scenes; iterations of a tiny one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pipeline.training import Recipe, begin_run, train
from pipeline.training.recipe import changed
from pipeline.training.training_data import training_data
from zoo.config import load_config, read_config
from zoo.datasets import Streets
from zoo.datasets.streets.objects import CLASSES
from zoo.datasets.streets.scene import points_inside
from zoo.datasets.training.cloud_samples import CloudSamples
from zoo.datasets.training.kinds import samples_of
from zoo.errors import InputError
from zoo.input_kinds import InputKind, input_kind
from zoo.input_kinds.points import PointsRule
from zoo.recipe_data import check_recipe_data
from zoo.tasks import ClassInfo

DETECTOR = """
model = dict(type="CenterPoint", num_classes=3, point_range=(0.0, -20.48, -3.0, 40.96, 20.48, 2.0), pillar_size=1.28,
    pillar_channels=8, channels=(8, 8), depths=(1, 1), strides=(1, 2), up_channels=(8, 8), head_channels=8,
    score_thresh=0.01, nms_thresh=0.2, topk_candidates=30, detections_per_img=10)
task = dict(type="Detection3D", classes=[dict(name=name, category_id=None) for name in {classes}])
preprocess = dict(intensity=(0, 1))
train_dataset = dict(type="Streets", split="train", count=4)
dataset = dict(type="Streets", split="shipped", count=2)
evaluator = dict(type="KittiAP")
export = dict(inputs=dict(batch=(1, 2, 4), count=(1, 16384, 32768)))
checkpoint = "work/best.safetensors"
train = dict(iterations=4, batch_size=2, warmup=1, optimizer=dict(type="AdamW", lr=0.003), val_interval=2, {more})
"""
NAMES = [ClassInfo(name, None) for name in CLASSES]


def written(folder: Path, more: str = "mirror=True, turn=45.0, scale=(0.95, 1.05)") -> Path:
    path = folder / "detector.py"
    path.write_text(DETECTOR.format(more=more, classes=CLASSES), encoding="utf-8")
    return path


def samples(**options: Any) -> CloudSamples:
    dataset = Streets("train", 2, classes=NAMES)
    plain: dict[str, Any] = {"rule": PointsRule(), "scale": (1, 1), "mirror": False, "turn": 0.0, "seed": 0}
    return CloudSamples(dataset, 4, **{**plain, **options})


def test_a_detector_of_points_learns_and_is_validated(tmp_path: Path) -> None:
    path = written(tmp_path)
    config = load_config(path)
    recipe = Recipe.from_config(config)
    assert (recipe.crop, recipe.size, recipe.turn) == (None, None, 45.0)
    notes: list[str] = []
    model, run = train(config, recipe, tmp_path / "work", begin_run(path, recipe, amp=False), note=notes.append)
    assert run.iterations == 4
    assert notes[-1].startswith("best kitti/3D_moderate ")
    assert all(torch.isfinite(tensor).all() for tensor in model.state_dict().values())


def test_batches_are_lists_of_clouds_with_their_targets(tmp_path: Path) -> None:
    config = load_config(written(tmp_path))
    recipe = Recipe.from_config(config)
    dataset = Streets("train", 4, classes=NAMES)
    batch = next(iter(training_data(config, recipe, torch.nn.Identity(), dataset)))
    assert set(batch) == {"points", "targets"}
    assert [cloud.shape[1] for cloud in batch["points"]] == [4, 4]
    for cloud, target in zip(batch["points"], batch["targets"], strict=True):
        assert cloud.dtype == torch.float32
        assert set(target) == {"boxes", "labels"}
        assert len(target["boxes"]) == len(target["labels"]) > 0


@pytest.mark.parametrize(
    "options", [{"mirror": True}, {"turn": 180.0}, {"scale": (0.5, 2.0)}, {"mirror": True, "turn": 45.0, "seed": 3}]
)
def test_boxes_move_with_their_points(options: dict[str, Any]) -> None:
    plain, changed = samples(seed=options.get("seed", 0)), samples(**options)
    moved = False
    for index in range(4):
        before, after = plain[index], changed[index]
        assert after["boxes"][:, 6].abs().max() <= np.float32(np.pi)
        np.testing.assert_array_equal(before["labels"], after["labels"])
        moved |= not np.allclose(before["boxes"], after["boxes"])
        for one, other in zip(before["boxes"].numpy(), after["boxes"].numpy(), strict=True):
            factor = other[3] / one[3]
            inside = points_inside(before["points"].numpy(), one, margin=0.05)
            still = points_inside(after["points"].numpy(), other, margin=0.05 * factor)
            assert (inside != still).sum() <= max(2, 0.02 * inside.sum())
    assert moved


def test_the_same_seed_gives_the_same_samples() -> None:
    one, again, other = (samples(turn=45.0, seed=seed)[1] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one["points"], again["points"])
    assert one["boxes"].shape != other["boxes"].shape or not np.allclose(one["boxes"], other["boxes"])


def test_difficult_objects_are_not_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    data = samples()
    items = [item | {"difficult": item["labels"] == 0} for item in (data.dataset[0], data.dataset[1])]
    monkeypatch.setattr(data, "dataset", items)
    assert all((data[index]["labels"] > 0).all() for index in range(4))


def test_intensities_of_another_scale_are_refused() -> None:
    with pytest.raises(InputError, match="intensities are fractions up to"):
        samples(rule=PointsRule((0.0, 255.0)))[0]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("crop=(64, 64)", "crop: of images; leave it out"),
        ("turn=270.0", 'argument "turn": got 270.0, expected degrees, 0 to 180'),
        ("backbone='a.safetensors'", "backbone: of images"),
    ],
)
def test_what_is_of_images_is_refused(tmp_path: Path, more: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Recipe.from_config(load_config(written(tmp_path, more)))


def test_none_switches_off_what_is_of_images(tmp_path: Path) -> None:
    recipe = Recipe.from_config(load_config(written(tmp_path, "crop=None, backbone=None, pretrain=None")))
    assert (recipe.crop, recipe.backbone, recipe.pretrain) == (None, None, None)


def test_a_kind_without_samples_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert samples_of(input_kind("image")).sized
    monkeypatch.setattr(type(input_kind("points")), "training_class", InputKind.training_class)
    with pytest.raises(InputError, match="models that take a point cloud are not trained here; train elsewhere"):
        samples_of(input_kind("points"))


def test_the_recipe_keeps_what_it_learns_from(tmp_path: Path) -> None:
    path = written(tmp_path)
    recipe = Recipe.from_config(load_config(path)).to_dict()
    assert recipe["train_dataset"] == {"type": "Streets", "split": "train", "count": 4}
    path.write_text(path.read_text(encoding="utf-8").replace("count=4", "count=5"), encoding="utf-8")
    other = Recipe.from_config(load_config(path)).to_dict()
    assert changed(recipe, other).startswith("train_dataset was {'type': 'Streets', 'split': 'train', 'count': 4} and")
    older = {key: value for key, value in recipe.items() if key != "train_dataset"}
    assert not changed(older, other)
    assert "warmup" in changed(older, {**other, "warmup": 7})


def test_streets_are_only_learned_where_they_are_named(tmp_path: Path) -> None:
    config = read_config(written(tmp_path))
    check_recipe_data(load_config(config))
    config.pop("train_dataset")
    with pytest.raises(InputError, match="training on dataset Streets needs training data: without train_dataset"):
        check_recipe_data(load_config(config))
