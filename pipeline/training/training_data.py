"""What a model learns from: data of one's own, scenes of digits, single digits, or crops of photographs."""

from typing import Any

from torch import nn

from pipeline.training.batches import Batches
from pipeline.training.recipe import Recipe
from zoo.config import ModelConfig
from zoo.datasets import DigitsTraining, EvaluationDataset, RotatedDigitsTraining
from zoo.datasets.digits.patches import DigitPatches, labelled
from zoo.datasets.photographs.training import PhotographTraining
from zoo.datasets.photographs.training import collate as collate_photographs
from zoo.datasets.training.collating import collate
from zoo.datasets.training.kinds import samples_of
from zoo.errors import InputError
from zoo.families import family_of

DETAILS = ("masks", "keypoints")  # that scenes may have beside boxes and labels


def training_data(
    config: ModelConfig,
    recipe: Recipe,
    model: nn.Module,
    dataset: EvaluationDataset | None = None,
    *,
    first: int = 0,
) -> Batches:
    """All batches of a training, in order. `first`: the number of those that were trained before.

    `dataset`: data of one's own, in the place of generated digits or shipped photographs. Raises InputError where the
    recipe's options do not fit the task.
    """
    length = recipe.iterations * recipe.batch_size
    if dataset is not None:
        if recipe.mirror and "keypoints" in config.task.truth:
            raise InputError(
                f"config {config.path}: train.mirror: keypoints change their names in a mirror, a left eye becomes a "
                "right one; leave mirror out"
            )
        kind = samples_of(config.task.kind)
        own: dict[str, Any] = {"crop": recipe.crop} if kind.sized else {"turn": recipe.turn or 0.0}
        samples = kind(
            *(dataset, length),
            rule=config.preprocess,
            scale=recipe.scale,
            mirror=bool(recipe.mirror),
            seed=recipe.seed,
            **own,
        )
        return Batches(samples, recipe.batch_size, first=first, collate=kind.collate)
    assert recipe.crop is not None  # generated data are images
    scales = family_of(model).scales(model)
    if (scales is not None) != (recipe.num_scenes is None):
        raise InputError(
            f"train: got num_scenes {recipe.num_scenes} for a {type(model).__name__}; super-resolution learns from "
            "crops of photographs (num_scenes=None), every other task from scenes of digits"
        )
    if scales is not None:
        values = scales.values
        crops = PhotographTraining(length, recipe.batch_size, recipe.crop, values, zoom=recipe.scale, seed=recipe.seed)
        return Batches(crops, recipe.batch_size, first=first, collate=collate_photographs)
    options = {key: getattr(recipe, key) for key in ("size", "crop", "scale", "num_scenes", "seed")}
    task = config.task
    details = [key for key in task.truth if key in DETAILS]
    own_ids = {info.category_id: index for index, info in enumerate(task.classes)}
    label_ids = [own_ids[digit + 1] for digit in range(10)]  # a digit's category id is d + 1
    assert recipe.num_scenes is not None
    if "label" in task.truth:
        patches = DigitPatches(length, recipe.crop[0], recipe.num_scenes, recipe.seed, label_ids=label_ids)
        return Batches(patches, recipe.batch_size, first=first, collate=labelled)
    # scenes are random: no shuffling needed
    if "rotated_boxes" in task.truth:
        turned = RotatedDigitsTraining(length, **options, label_ids=label_ids)
        return Batches(turned, recipe.batch_size, first=first, collate=collate)
    scenes = DigitsTraining(length, **options, details=details, label_ids=label_ids)
    return Batches(scenes, recipe.batch_size, first=first, collate=collate)
