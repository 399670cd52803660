"""Proof that a recipe makes the published weights: it was followed from scratch, and the figures come out the same."""

import hashlib

from pipeline.training.recipe import Recipe, changed
from pipeline.training.scoring import differences
from zoo.cards import Figures, Reproduction, TrainingRecord, TrainingRun
from zoo.errors import GateError, InputError

WITHIN = {"points": 3.0, "dB": 0.1}  # of the main figure, either way, by its metric's unit


def reproduction(run: TrainingRun, weights: bytes, figures: Figures, published: Figures) -> Reproduction:
    """What a card says of a run: its `weights` score `figures`, and beside them the published ones `published`."""
    digest = hashlib.sha256(weights).hexdigest()
    return Reproduction(**run.to_dict(), sha256=digest, figures=figures, differences=differences(figures, published))


def check_unchanged(record: TrainingRecord, recipe: Recipe) -> None:
    """Raises InputError where the config's recipe is not that of the published weights: there is nothing to prove."""
    if difference := changed(record.recipe, recipe.to_dict()):
        raise InputError(
            f"--reproduce: the recipe has changed since {record.file} was published: {difference}; put it back, or "
            "train with --publish"
        )


def check_recipe(run: TrainingRun, config: str, recipe: Recipe) -> None:
    """Raises InputError where a checkpoint's run is not of this config (its name) and recipe.

    Of a checkpoint that was written before they kept their recipes, its config alone can be held to it.
    """
    if run.config != config:
        raise InputError(f"this checkpoint was trained by {run.config}, not by {config}; give that config")
    if run.recipe is not None and (difference := changed(run.recipe, recipe.to_dict())):
        raise InputError(
            f"this checkpoint was trained by another recipe: {difference}; put the config's train section as it was, "
            "or train again"
        )


def check_whole(run: TrainingRun, recipe: Recipe) -> None:
    """Raises InputError where a checkpoint proves nothing: its run had not done all that the recipe says."""
    if run.iterations != recipe.iterations:
        raise InputError(
            f"--reproduce: this checkpoint was written after {run.iterations} iterations, the recipe has "
            f"{recipe.iterations}; give the last one of the training, or continue with --resume"
        )


def check_proof(run: TrainingRun, record: TrainingRecord) -> None:
    """Raises InputError where a run proves nothing: it is the published one, or began from another file."""
    if run.is_of(record.training):
        raise InputError(f"--reproduce: this is the training that {record.file} was published from; train it again")
    ours, theirs = run.backbone_sha256, record.training.backbone_sha256
    if None not in (ours, theirs) and ours != theirs:
        raise InputError(
            f"--reproduce: this training began from another file of train.backbone, sha256 {ours}, than the published "
            f"one, {theirs}; train with --publish"
        )


def check_figures(run: Reproduction, config: str, metric: str, unit: str = "points") -> None:
    """Raises GateError where the main figure, `metric` of `config`, is not that of the published weights.

    `unit`: "points" or "dB".
    """
    value, change = run.figures[config][metric], run.differences[config][metric]
    if value is None or change is None:
        raise GateError(f"{config}: {metric} has nothing to judge; give the config a data set with objects in it")
    if abs(change) > WITHIN[unit]:
        cure = "publish the new weights" if change > 0 else "fix the recipe, or publish weights that it makes"
        raise GateError(
            f"{config}: {metric} is {value:.2f}, {change:+.2f} from the published weights; expected at most "
            f"{WITHIN[unit]} either way: {cure}"
        )
