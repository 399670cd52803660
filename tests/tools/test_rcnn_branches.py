"""A small Mask R-CNN and Keypoint R-CNN with random weights: deployed, proved, loaded and evaluated by the tools."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from safetensors.torch import save_file
from torch import Tensor

from backends import load
from tests.rewriters.small_models import POINTS, small_keypoint_rcnn, small_mask_rcnn
from tests.tools.tiny import Run
from zoo.tasks.instance_segmentation import InstanceSegmentationResult
from zoo.tasks.keypoint_detection import KeypointResult

Tool = Callable[[Sequence[str]], Run]

ROOT = Path(__file__).parents[2]
SAMPLE_IMAGES = sorted((ROOT / "zoo" / "data" / "digits" / "val" / "images").iterdir())
CONFIG = """
model = dict(
    **{model}, num_classes=4, backbone=dict(base_channels=4, out_channels=16),
    anchor_sizes=(8, 16, 32, 64, 128), box_head_channels=32, min_size=128, max_size=160,
    rpn_pre_nms_top_n_test=60, rpn_post_nms_top_n_test=40, box_score_thresh=0.3, box_detections_per_img=20,
)
checkpoint = "rcnn.safetensors"
task = dict(type="{task}", classes=[dict(name="background", category_id=None)]
            + [dict(name=str(digit), category_id=digit + 1) for digit in range(3)])
preprocess = dict(size=(128, 160))
dataset = dict(type="{dataset}", images="{folder}", annotations="{folder}/truth.json")
evaluator = {evaluator}
export = dict(exporter="torchscript", opset=17, inputs=dict(batch=(1, 2, 2)),
              rewriters=["torchvision.RoIHeads.forward"])
"""


MASKS = {
    "model": {"type": "MaskRCNN", "mask_channels": (8, 8)},
    "task": "InstanceSegmentation",
    "dataset": "CocoInstances",
    "evaluator": {"type": "CocoMaskAP"},
}
KEYPOINTS = {
    "model": {"type": "KeypointRCNN", "keypoint_channels": (8, 8), "num_keypoints": POINTS},
    "task": "KeypointDetection",
    "dataset": "CocoKeypoints",
    "evaluator": {"type": "CocoKeypointAP", "sigmas": [0.05] * POINTS},
}


def write(folder: Path, kind: dict[str, Any], weights: dict[str, Tensor]) -> Path:
    """The config, its checkpoint, and images of the tensor's own size: chance weights magnify a resize's rounding."""
    save_file(weights, folder / "rcnn.safetensors")
    images, annotations = [], []
    for number, path in enumerate(SAMPLE_IMAGES[:3]):
        cv2.imwrite(str(folder / f"{number}.png"), cv2.resize(cv2.imread(str(path)), (160, 128)))
        images.append({"id": number, "file_name": f"{number}.png", "height": 128, "width": 160})
        corners = [10, 20, 70, 20, 70, 90, 10, 90]
        annotations.append(
            {"id": number, "image_id": number, "category_id": 1 + number, "bbox": [10, 20, 60, 70], "area": 4200}
            | {"iscrowd": 0, "segmentation": [corners], "keypoints": [30, 40, 2] * POINTS}
        )
    categories = [{"id": number, "name": str(number)} for number in (1, 2, 3)]
    truth = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "truth.json").write_text(json.dumps(truth), encoding="utf-8")
    path = folder / "rcnn.py"
    path.write_text(CONFIG.format(folder=folder, **kind), encoding="utf-8")
    return path


def deployed(config: Path, deploy: Tool, figures: Sequence[tuple[str, str]]) -> Path:
    """The deployment's folder; its parity passed and compared these (comparison, figure)."""
    images = [str(config.parent / f"{number}.png") for number in range(2)]
    run = deploy([str(config), "--work-dir", str(config.parent / "work"), "--image", *images])
    assert (run.code, run.err) == (0, "")
    folder = next(config.parent.rglob("deployment.json")).parent
    record = json.loads((folder / "parity.json").read_text(encoding="utf-8"))
    assert record["verdict"] == "passed"
    for kind, name in figures:
        (found,) = [figure for figure in record["summary"][kind]["figures"] if figure["name"] == name]
        assert found["count"] >= 2 * POINTS
    return folder


def evaluated(config: Path, evaluate: Tool, figure: str) -> None:
    file = config.parent / "found.json"
    run = evaluate([str(config), "--work-dir", str(config.parent / "work"), "--json", str(file)])
    assert run.code == 0, run.err
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert [row["verdict"] for row in rows] == ["reference", "passed"]
    assert np.isfinite(rows[0]["figures"][figure])


@pytest.mark.slow
def test_masks_from_config_to_figures(deploy: Tool, evaluate: Tool, tmp_path: Path) -> None:
    config = write(tmp_path, MASKS, small_mask_rcnn().state_dict())
    figures = [("graph", "masks"), ("pipeline", "masks, same input"), ("pipeline", "masks, end to end")]
    sample_image = cv2.imread(str(tmp_path / "0.png"))
    with load(deployed(config, deploy, figures)) as model:
        result = model(sample_image)
        drawn = model.task.draw(sample_image, result)
    assert isinstance(result, InstanceSegmentationResult)
    assert result.image_masks(128, 160).any()
    assert (drawn != sample_image).any()
    evaluated(config, evaluate, "coco/mask_AP")


@pytest.mark.slow
def test_keypoints_from_config_to_figures(deploy: Tool, evaluate: Tool, tmp_path: Path) -> None:
    config = write(tmp_path, KEYPOINTS, small_keypoint_rcnn().state_dict())
    figures = [("graph", "keypoints"), ("graph", "keypoint values"), ("pipeline", "keypoint values, end to end")]
    sample_image = cv2.imread(str(tmp_path / "0.png"))
    with load(deployed(config, deploy, figures)) as model:
        result = model(sample_image)
        drawn = model.task.draw(sample_image, result)
    assert isinstance(result, KeypointResult)
    assert np.ptp(result.keypoints[..., :2]) > 10
    assert (drawn != sample_image).any()
    evaluated(config, evaluate, "coco/keypoint_AP")
