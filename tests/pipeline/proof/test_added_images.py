"""A deploy adds images that use what no given image uses, and says what is left."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.export.reference_run import ReferenceRun, run_reference
from pipeline.job.job import plan_job
from pipeline.proof.added_images import MAX_ADDED_IMAGES, with_added_images
from tests.examples import slow_but
from zoo.build import build_model
from zoo.input_kinds.image.composed import composed_images

ROOT = Path(__file__).parents[3]


def unused(reference: ReferenceRun) -> set[tuple[str, str]]:
    return {(one.what, one.part) for one in reference.exercised if not one.count}


def test_composed_images_have_the_size_and_none_of_the_content_of_the_first() -> None:
    pixels = [np.random.default_rng(seed).integers(0, 256, (61, 90, 3)).astype(np.uint8) for seed in range(3)]
    images = list(composed_images([(f"{i}.png", p) for i, p in enumerate(pixels)]))
    assert len({name for name, _ in images}) == len(images) == 9
    assert images[0][0] == "0.png (crop x4)"
    assert {image.shape for _, image in images} == {(61, 90, 3)}
    assert len({image.tobytes() for _, image in images}) == len(images)
    assert not any((image == own).all() for _, image in images for own in pixels)


@pytest.mark.slow
def test_coarse_anchors_of_the_shipped_detector_are_used_by_an_added_image() -> None:
    job = plan_job(ROOT / "configs/detection/faster-rcnn_r18-fpn_digits.py", None, (), "work_dirs")
    job = replace(job, images=job.images[:2], target=job.target.with_(batch=job.target.batch.fixed(1)))
    model = build_model(job.config, None)
    before = run_reference(job, model)
    coarse = ("anchors that became proposals", "of level 4")
    assert coarse in unused(before)
    more, after = with_added_images(job, model, before)
    assert len(job.images) < len(more.images) <= len(job.images) + MAX_ADDED_IMAGES
    assert [image.name for image in more.images[:2]] == [image.name for image in job.images]
    assert len(after.pipeline) == len(more.images)
    assert len(after.graph) == len(before.graph) + len(more.images) - len(job.images)
    assert coarse not in unused(after)
    # a box of 448 pixels does not fit into 256 x 320: the record says that nothing used the level
    assert ("boxes that box_roi_pool pools", "from level 3") in unused(after)


@pytest.mark.parametrize(
    "config",
    slow_but(
        ["segmentation/fcn_r18_digits.py", "restoration/srcnn_x3_photographs.py"], "restoration/srcnn_x3_photographs.py"
    ),
)
def test_nothing_is_added_where_no_level_or_threshold_decides(config: str) -> None:
    job = plan_job(ROOT / "configs" / config, None, (), "work_dirs")
    job = replace(job, images=job.images[:2])
    model = build_model(job.config, None)
    reference = run_reference(job, model)
    assert with_added_images(job, model, reference) == (job, reference)
