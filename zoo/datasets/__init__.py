"""Data sets, as the zoo's tasks read them. Importing this package registers them."""

from zoo.datasets.ade20k import ADE20K
from zoo.datasets.building import build_dataset
from zoo.datasets.cityscapes import Cityscapes
from zoo.datasets.coco_detection import CocoDetection
from zoo.datasets.coco_instances import CocoInstances
from zoo.datasets.coco_keypoints import CocoKeypoints
from zoo.datasets.digits import DigitsDetection, DigitsInstances, DigitsSegmentation
from zoo.datasets.digits_cache import DIGITS_ROOT
from zoo.datasets.digits_training import DigitsTraining
from zoo.datasets.evaluation_dataset import EvaluationDataset
from zoo.datasets.image_folder import ImageFolder
from zoo.datasets.voc_detection import VOCDetection
from zoo.datasets.voc_segmentation import VOCSegmentation

__all__ = [
    "ADE20K",
    "DIGITS_ROOT",
    "Cityscapes",
    "CocoDetection",
    "CocoInstances",
    "CocoKeypoints",
    "DigitsDetection",
    "DigitsInstances",
    "DigitsSegmentation",
    "DigitsTraining",
    "EvaluationDataset",
    "ImageFolder",
    "VOCDetection",
    "VOCSegmentation",
    "build_dataset",
]
