"""mmdetection's rule of pasting masks: against its definition, sampling of the mask over the coordinates of its box."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.small_tasks import small_task
from zoo.errors import InputError
from zoo.manifest_schema import MANIFEST_SCHEMA, schema_errors
from zoo.preprocess import Geometry
from zoo.tasks import build_task
from zoo.tasks.instance_segmentation.mask_pasting import paste_masks
from zoo.tasks.instance_segmentation.sampled_pasting import sampled_masks

SIZE = (48, 64)


def by_grid_sample(masks: torch.Tensor, boxes: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
    """As mmdetection computes it: a grid over the image in units of each box, -1 to 1."""
    ys = torch.arange(size[0]) + 0.5
    xs = torch.arange(size[1]) + 0.5
    grids = []
    for x1, y1, x2, y2 in boxes:
        y = (ys - y1) / (y2 - y1) * 2 - 1
        x = (xs - x1) / (x2 - x1) * 2 - 1
        grids.append(torch.stack((x.expand(len(y), -1), y[:, None].expand(-1, len(x))), dim=-1))
    return F.grid_sample(masks[:, None], torch.stack(grids), align_corners=False)[:, 0]


@pytest.mark.parametrize("seed", range(3))
def test_it_samples_the_mask_at_the_centres_of_pixels(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    masks = torch.rand(8, 28, 28, generator=generator)
    corners = torch.rand(8, 2, generator=generator) * 50 - 10
    boxes = torch.cat((corners, corners + 1 + torch.rand(8, 2, generator=generator) * 40), dim=1)
    expected = by_grid_sample(masks, boxes, SIZE)
    pasted = sampled_masks(masks.numpy(), boxes.numpy(), SIZE)
    wrong = pasted != (expected >= 0.5).numpy()
    assert (expected - 0.5).abs().numpy()[wrong].max(initial=0) < 1e-5
    assert 0.02 < pasted.mean() < 0.5


def test_boxes_outside_of_the_image_and_without_a_length() -> None:
    masks = np.ones((3, 28, 28), np.float32)
    boxes = np.array([[80, 10, 90, 20], [-30, -30, -20, -20], [10, 10, 10, 20]], np.float32)
    pasted = sampled_masks(masks, boxes, SIZE)
    assert not pasted[:2].any()
    assert pasted.shape == (3, *SIZE)


def test_the_task_names_the_rule_and_its_results_follow_it() -> None:
    task = small_task("instance-segmentation")
    sampled = build_task({"type": "InstanceSegmentation", "classes": task.classes, "sampled_masks": True})
    assert sampled.options == {"sampled_masks": True}
    assert not list(schema_errors(sampled.options, MANIFEST_SCHEMA["properties"]["task_options"]))
    mask = np.tri(28, dtype=np.float32)
    outputs = {
        "num_dets": np.array([1]),
        "boxes": np.array([[[3.4, 5.6, 30.5, 41.2]]], np.float32),
        "scores": np.ones((1, 1), np.float32),
        "labels": np.zeros((1, 1), np.int64),
        "masks": mask[None, None],
    }
    geometry = Geometry(SIZE, SIZE, SIZE)
    (plain,), (other,) = task.results(outputs, [geometry]), sampled.results(outputs, [geometry])
    assert np.array_equal(plain.image_masks(*SIZE), paste_masks(mask[None], outputs["boxes"][0], SIZE))
    assert np.array_equal(other.image_masks(*SIZE), sampled_masks(mask[None], outputs["boxes"][0], SIZE))
    assert not np.array_equal(plain.image_masks(*SIZE), other.image_masks(*SIZE))


def test_the_graph_pastes_by_the_other_rule_alone() -> None:
    task = small_task("instance-segmentation")
    with pytest.raises(InputError, match="got image_masks and sampled_masks; the graph pastes by torchvision's rule"):
        build_task(
            {"type": "InstanceSegmentation", "classes": task.classes, "image_masks": True, "sampled_masks": True}
        )
