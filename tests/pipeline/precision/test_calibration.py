"""Calibration images as the graph's inputs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from pipeline.job.job import Job, plan_job
from pipeline.precision import feeds
from pipeline.precision.calibration import calibration
from pipeline.precision.separation import shared
from zoo.config import load_config
from zoo.datasets.digits.scene import make_scene
from zoo.errors import InputError
from zoo.target import AxisRange

ROOT = Path(__file__).parents[3]


def job(name: str = "segmentation/fcn_r18_digits", **sections: Any) -> Job:
    config = replace(load_config(ROOT / "configs" / f"{name}.py"), **sections)
    return plan_job(config, None, [], "work_dirs")


def test_they_are_training_scenes_as_the_graph_takes_them() -> None:
    given = feeds(job(), 2)
    assert [list(feed) for feed in given] == [["images"]] * 2
    assert given[0]["images"].shape == (1, 3, 256, 320)
    assert given[0]["images"].dtype == np.float32
    assert 0 <= given[0]["images"].min() < given[0]["images"].max() <= 1
    scene = make_scene("train", 0).image
    assert scene.shape[:2] != (256, 320) or np.array_equal(
        given[0]["images"][0], scene[..., ::-1].transpose(2, 0, 1).astype(np.float32) / 255
    )


def test_an_image_brings_its_scale_or_takes_the_default() -> None:
    given = feeds(job("restoration/srcnn_any-scale_photographs"), 3)
    assert [feed["scale"].tolist() for feed in given] == [[2], [3], [4]]
    assert given[0]["scale"].dtype == np.int64


def test_files_and_folders_stand_in_for_the_configs_images(tmp_path: Path) -> None:
    for number in range(3):
        cv2.imwrite(str(tmp_path / f"{number}.png"), np.full((64, 80, 3), 50 * number, np.uint8))
    given = feeds(job(), 5, images=[tmp_path, tmp_path / "0.png"], defaults={"extra": 7})
    assert len(given) == 4
    assert given[1]["extra"].tolist() == [7]
    assert len(feeds(job(), 2, images=[tmp_path])) == 2


def test_the_count_is_that_of_the_images_not_of_the_batches(tmp_path: Path) -> None:
    for number in range(3):
        cv2.imwrite(str(tmp_path / f"{number}.png"), np.full((64, 80, 3), 50 * number, np.uint8))
    pairs = job()
    pairs = replace(pairs, target=pairs.target.with_(batch=AxisRange(2, 2, 4)))
    found = calibration(pairs, 5, images=[tmp_path])
    assert (len(found.feeds), found.images) == (2, 3)
    assert [feed["images"].shape[0] for feed in found.feeds] == [2, 2]


@pytest.mark.parametrize("judge", ["dataset", "gate_dataset"])
def test_what_judges_does_not_calibrate(judge: str) -> None:
    given = job(calibration_dataset=getattr(job().config, judge))
    with pytest.raises(InputError, match=f"calibration_dataset is the config's {judge}, which judges; give images"):
        feeds(given, 2)


def test_a_copy_under_another_name_is_found(tmp_path: Path) -> None:
    names = {"a.png": b"one", "b.png": b"two", "c.png": b"three", "copy.png": b"two"}
    for name, content in names.items():
        (tmp_path / name).write_bytes(content)
    a, b, c, copy = (tmp_path / name for name in names)
    assert shared([a, copy], [c, b]) == (copy, b)
    assert shared([a], [b, c, tmp_path / "missing.png"]) is None


def test_without_images_the_error_says_what_to_add(tmp_path: Path) -> None:
    bare = job(calibration_dataset=None)
    with pytest.raises(
        InputError, match=r'no "calibration_dataset"; add calibration_dataset=dict\(.*--calibration-image'
    ):
        feeds(bare, 2)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no images, expected one or more of .bmp"):
        feeds(bare, 2, images=[tmp_path / "empty"])
    with pytest.raises(InputError, match="no such file"):
        feeds(bare, 2, images=[tmp_path / "missing.png"])
