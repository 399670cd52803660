"""Calibration pictures as the graph's inputs."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from pipeline.job import Job, plan_job
from pipeline.precision import feeds
from zoo.config import load_config
from zoo.datasets.digits.scene import make_scene
from zoo.errors import InputError

ROOT = Path(__file__).parents[3]


def job(name: str = "segmentation/fcn_r18_digits", **sections: object) -> Job:
    config = load_config(ROOT / "configs" / f"{name}.py")
    for key, value in sections.items():
        config[key] = value
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


def test_a_picture_brings_its_scale_or_takes_the_default() -> None:
    given = feeds(job("restoration/srcnn_any-scale_photographs"), 3)
    assert [feed["scale"].tolist() for feed in given] == [[2], [3], [4]]
    assert given[0]["scale"].dtype == np.int64


def test_files_and_folders_stand_in_for_the_configs_pictures(tmp_path: Path) -> None:
    for number in range(3):
        cv2.imwrite(str(tmp_path / f"{number}.png"), np.full((64, 80, 3), 50 * number, np.uint8))
    given = feeds(job(), 5, pictures=[tmp_path, tmp_path / "0.png"], defaults={"extra": 7})
    assert len(given) == 4
    assert given[1]["extra"].tolist() == [7]
    assert len(feeds(job(), 2, pictures=[tmp_path])) == 2


def test_without_pictures_the_error_says_what_to_add(tmp_path: Path) -> None:
    bare = job()
    bare.config.pop("calibration_dataset")
    with pytest.raises(
        InputError, match=r'no "calibration_dataset"; add calibration_dataset=dict\(.*--calibration-image'
    ):
        feeds(bare, 2)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no images, expected one or more of .bmp"):
        feeds(bare, 2, pictures=[tmp_path / "empty"])
    with pytest.raises(InputError, match="no such file"):
        feeds(bare, 2, pictures=[tmp_path / "missing.png"])
