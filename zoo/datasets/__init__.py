"""Data sets, as the zoo's tasks read them. Importing this package registers them."""

from zoo.datasets.building import build_dataset, config_dataset
from zoo.datasets.class_folders import ClassFolders
from zoo.datasets.coco.detection import CocoDetection
from zoo.datasets.coco.instances import CocoInstances
from zoo.datasets.coco.keypoints import CocoKeypoints
from zoo.datasets.digits.cache import DIGITS_ROOT
from zoo.datasets.digits.crops import DigitsClassification, DigitsTrainingCrops
from zoo.datasets.digits.on_disk import DigitsDetection, DigitsInstances, DigitsKeypoints, DigitsSegmentation
from zoo.datasets.digits.rotated import RotatedDigits, RotatedDigitsTrainingScenes
from zoo.datasets.digits.rotated_training import RotatedDigitsTraining
from zoo.datasets.digits.training import DigitsTraining
from zoo.datasets.digits.training_scenes import DigitsTrainingScenes
from zoo.datasets.dota import DotaDetection
from zoo.datasets.evaluation_dataset import EvaluationDataset
from zoo.datasets.image_folder import ImageFolder
from zoo.datasets.kitti.kitti_dataset import KittiDataset
from zoo.datasets.label_maps.ade20k import ADE20K
from zoo.datasets.label_maps.cityscapes import Cityscapes
from zoo.datasets.label_maps.label_maps import LabelMaps
from zoo.datasets.photographs.super_resolution_folder import PhotographCrops, SuperResolutionFolder
from zoo.datasets.photographs.training_crops import TrainingPhotographCrops
from zoo.datasets.streets.streets import Streets
from zoo.datasets.voc.detection import VOCDetection
from zoo.datasets.voc.segmentation import VOCSegmentation

__all__ = [
    "ADE20K",
    "DIGITS_ROOT",
    "Cityscapes",
    "ClassFolders",
    "CocoDetection",
    "CocoInstances",
    "CocoKeypoints",
    "DigitsClassification",
    "DigitsDetection",
    "DigitsInstances",
    "DigitsKeypoints",
    "DigitsSegmentation",
    "DigitsTraining",
    "DigitsTrainingCrops",
    "DigitsTrainingScenes",
    "DotaDetection",
    "EvaluationDataset",
    "ImageFolder",
    "KittiDataset",
    "LabelMaps",
    "PhotographCrops",
    "RotatedDigits",
    "RotatedDigitsTraining",
    "RotatedDigitsTrainingScenes",
    "Streets",
    "SuperResolutionFolder",
    "TrainingPhotographCrops",
    "VOCDetection",
    "VOCSegmentation",
    "build_dataset",
    "config_dataset",
]
