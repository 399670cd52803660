"""The shipped weights: small, half precision, truthfully described by their cards, good enough to mean something."""

import hashlib
import json
import re
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from pipeline import evaluate
from pipeline.training import Recipe, check_figures
from tests.zoo_configs import buildable
from zoo.cards import Measured, TrainingRecord, measured_file
from zoo.config import load_config
from zoo.metrics import build_metric
from zoo.registry import MODELS

CONFIGS = {
    "configs/classification/resnet18_digits.py": ("classification/top1", 88),
    "configs/detection/faster-rcnn_r18-fpn_digits.py": ("coco/box_AP", 60),
    "configs/detection/fcos_r18-fpn_digits.py": ("coco/box_AP", 55),
    "configs/detection/keypoint-rcnn_r18-fpn_digits.py": ("coco/keypoint_AP", 55),
    "configs/detection/mask-rcnn_r18-fpn_digits.py": ("coco/mask_AP", 50),
    "configs/detection/retinanet_r18-fpn_digits.py": ("coco/box_AP", 55),
    "configs/detection/rt-detr-v2_r18_digits.py": ("coco/box_AP", 60),
    "configs/detection/ssdlite_r18-fpn_digits.py": ("coco/box_AP", 55),
    "configs/detection/yolov5n_digits.py": ("coco/box_AP", 60),
    "configs/detection3d/centerpoint-pillars_streets.py": ("kitti/3D_moderate", 55),
    "configs/detection3d/pointpillars_streets.py": ("kitti/3D_moderate", 50),
    "configs/restoration/srcnn_any-scale_photographs.py": ("restoration/PSNR", 30.5),
    "configs/restoration/srcnn_x3_photographs.py": ("restoration/PSNR", 30.1),
    "configs/rotated_detection/rotated-fcos_r18-fpn_digits.py": ("dota/mAP", 70),
    "configs/segmentation/deeplabv3plus_r18_digits.py": ("segmentation/mIoU", 70),
    "configs/segmentation/pspnet_r18_digits.py": ("segmentation/mIoU", 70),
    "configs/segmentation/unet_r18_digits.py": ("segmentation/mIoU", 75),
    "configs/segmentation/upernet_dcn-r18_digits.py": ("segmentation/mIoU", 70),
    "configs/segmentation/upernet_r18_digits.py": ("segmentation/mIoU", 70),
    "configs/segmentation/fcn_r18_digits.py": ("segmentation/mIoU", 70),
    "configs/segmentation/fcn_r18-slide_digits.py": ("segmentation/mIoU", 70),
}
ROOT = Path(__file__).resolve().parents[2]
WEIGHTS = sorted((ROOT / "zoo" / "weights").glob("*.safetensors"))
MAX_BYTES = {  # of each shipment
    ("faster-rcnn", "fcn"): 6_000_000,
    ("fcos", "mask-rcnn", "retinanet", "ssdlite"): 7_000_000,
    ("keypoint-rcnn",): 2_000_000,
    ("yolov5n",): 4_000_000,
    ("deeplabv3plus", "pspnet", "upernet"): 5_000_000,
    ("upernet_dcn-r18",): 2_000_000,
    ("rotated-fcos",): 2_000_000,
    ("rt-detr-v2",): 4_000_000,
    ("unet",): 2_500_000,
    ("centerpoint-pillars", "pointpillars"): 3_000_000,
    ("resnet18",): 400_000,
    ("srcnn_any-scale",): 300_000,
    ("srcnn_x3",): 300_000,
}
BUFFERS = r"running_|num_batches|\.(anchors|n_points_scale)$"  # no parameters: statistics, constants of a model
LIMIT = 8  # images of val, so that the test stays quick; the cards have the figures on all 64
# The first LIMIT images, in points or dB, for each config C: zooport evaluate C --backend pytorch --limit 8
GOLDEN = {
    "configs/classification/resnet18_digits.py": 100.0,
    "configs/restoration/srcnn_any-scale_photographs.py": 32.49,
    "configs/restoration/srcnn_x3_photographs.py": 29.60,
    "configs/detection/faster-rcnn_r18-fpn_digits.py": 77.10,
    "configs/detection/fcos_r18-fpn_digits.py": 76.61,
    "configs/detection/keypoint-rcnn_r18-fpn_digits.py": 70.32,
    "configs/detection/mask-rcnn_r18-fpn_digits.py": 69.94,
    "configs/detection/retinanet_r18-fpn_digits.py": 62.29,
    "configs/detection/rt-detr-v2_r18_digits.py": 72.69,
    "configs/detection/ssdlite_r18-fpn_digits.py": 75.86,
    "configs/detection/yolov5n_digits.py": 76.72,
    "configs/detection3d/centerpoint-pillars_streets.py": 74.52,
    "configs/detection3d/pointpillars_streets.py": 76.09,
    "configs/rotated_detection/rotated-fcos_r18-fpn_digits.py": 83.71,
    "configs/segmentation/deeplabv3plus_r18_digits.py": 76.84,
    "configs/segmentation/pspnet_r18_digits.py": 80.82,
    "configs/segmentation/unet_r18_digits.py": 83.99,
    "configs/segmentation/upernet_dcn-r18_digits.py": 76.99,
    "configs/segmentation/upernet_r18_digits.py": 75.04,
    "configs/segmentation/fcn_r18_digits.py": 78.65,
    "configs/segmentation/fcn_r18-slide_digits.py": 80.25,
}
ON_EVERY_COMMIT = (  # every config's weights are deployed, evaluated and aligned in make test-all
    "configs/classification/resnet18_digits.py",
    "configs/detection/faster-rcnn_r18-fpn_digits.py",
    "configs/detection3d/centerpoint-pillars_streets.py",
    "configs/restoration/srcnn_x3_photographs.py",
    "configs/segmentation/fcn_r18_digits.py",
)
GOLDEN_WITHIN = {"points": 1.0, "dB": 0.05}  # another version of OpenCV or torch rounds otherwise
CARD_WITHIN = {"points": 0.2, "dB": 0.01}  # on all images


def test_together_they_are_small() -> None:
    sizes = {re.split("_r18|_digits|_photographs|_streets", file.stem)[0]: file.stat().st_size for file in WEIGHTS}
    assert sorted(sizes) == sorted(name for names in MAX_BYTES for name in names)
    for names, most in MAX_BYTES.items():
        assert sum(sizes[name] for name in names) < most


@pytest.mark.parametrize("file", WEIGHTS, ids=lambda file: file.stem)
def test_the_card_describes_the_file(file: Path) -> None:
    record = record_of(file)
    state = load_file(file)
    assert (record.file, record.bytes) == (file.name, file.stat().st_size)
    assert hashlib.sha256(file.read_bytes()).hexdigest() == record.sha256
    assert {tensor.dtype for tensor in state.values()} <= {torch.float16, torch.int64}
    assert all(tensor.isfinite().all() for tensor in state.values())
    counted = sum(t.numel() for name, t in state.items() if not re.search(BUFFERS, name))
    assert record.parameters == counted


@pytest.mark.parametrize("file", WEIGHTS, ids=lambda file: file.stem)
def test_the_card_has_the_recipe_of_its_config(file: Path) -> None:
    record = record_of(file)
    path = ROOT / record.training.config
    recipe = Recipe.from_config(load_config(path), seed=record.training.seed)
    assert recipe.to_dict() == record.recipe, "train again, and publish"


@pytest.mark.parametrize("file", WEIGHTS, ids=lambda file: file.stem)
def test_no_reproduction_came_to_other_figures(file: Path) -> None:
    record = record_of(file)
    for run in record.reproduced:
        config = record.training.config
        check_figures(run, config, CONFIGS[config][0], unit_of(config))


def record_of(file: Path) -> TrainingRecord:
    return TrainingRecord.read(file.with_suffix(".json"))


def unit_of(config: str) -> str:
    return build_metric(load_config(ROOT / config).evaluator).unit


def scored(config: str, folder: Path, limit: int | None = None) -> float:
    return evaluate(ROOT / config, ["pytorch"], work_dir=folder, limit=limit).rows[0].figures[CONFIGS[config][0]]


def on_the_card(config: str) -> float:
    figures = next(row for file in WEIGHTS for name, row in record_of(file).figures.items() if name == config)
    value = figures[CONFIGS[config][0]]
    assert value is not None
    return value


@pytest.mark.parametrize("config", buildable(CONFIGS, ON_EVERY_COMMIT))
def test_weights_load_and_score(config: str, tmp_path: Path) -> None:
    assert scored(config, tmp_path, LIMIT) == pytest.approx(GOLDEN[config], abs=GOLDEN_WITHIN[unit_of(config)])


@pytest.mark.slow
@pytest.mark.parametrize("config", buildable(CONFIGS))
def test_all_images_score_what_the_card_says(config: str, tmp_path: Path) -> None:
    assert scored(config, tmp_path) == pytest.approx(on_the_card(config), abs=CARD_WITHIN[unit_of(config)])


@pytest.mark.parametrize("config", CONFIGS)
def test_training_and_measuring_say_the_same(config: str) -> None:
    measured = Measured.from_dict(json.loads(measured_file(config).read_text(encoding="utf-8")))
    pytorch = next(row for row in measured.rows if row.backend == "pytorch")
    record = next(record for record in map(record_of, WEIGHTS) if config in record.figures)
    assert (record.sha256, record.parameters) == (measured.checkpoint_sha256, measured.parameters)
    assert record.datasets[config]["images"] == measured.images
    for metric, value in record.figures[config].items():
        assert pytorch.figures[metric] == pytest.approx(value, abs=0.0051), metric  # of two decimals


@pytest.mark.parametrize("config", CONFIGS)
def test_the_card_gives_a_figure_above_the_gate(config: str) -> None:
    assert on_the_card(config) >= CONFIGS[config][1]


def test_the_boxes_of_masks_and_keypoints_are_good_as_well() -> None:
    for stem in ("mask-rcnn_r18-fpn_digits", "keypoint-rcnn_r18-fpn_digits"):
        (figures,) = record_of(ROOT / f"zoo/weights/{stem}.safetensors").figures.values()
        assert (figures["coco/box_AP"] or 0) >= 55


def test_the_detector_is_not_resized_again() -> None:
    config = load_config(ROOT / "configs/detection/faster-rcnn_r18-fpn_digits.py")
    transform = MODELS.build(config.model).transform
    height, width = config.preprocess.size
    images, _ = transform([torch.zeros(3, height, width)])
    assert images.image_sizes == [(height, width)]
    assert images.tensors.shape == (1, 3, height, width)


def test_a_config_without_a_recipe_of_its_own_names_the_one_to_run() -> None:
    path = ROOT / "configs/segmentation/fcn_r18-slide_digits.py"
    with pytest.raises(Exception, match=r"run zooport train .*fcn_r18_digits.py"):
        Recipe.from_config(load_config(path))
