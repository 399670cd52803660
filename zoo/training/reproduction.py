"""Proof that a recipe makes the published weights: it was followed from scratch, and the figures come out the same."""

import hashlib

from torch import nn

from zoo.errors import GateError, InputError
from zoo.training.checkpoint_card import Figures, Reproduction, differences
from zoo.training.publishing import half_precision_file
from zoo.training.recipe import Recipe
from zoo.training.training_run import TrainingRun

WITHIN = 3.0  # points (or dB) of the main figure, either way


def reproduction(run: TrainingRun, model: nn.Module, figures: Figures, published: Figures) -> Reproduction:
    """What a card tells of a run: its rounded weights score `figures`, and beside them the published `published`."""
    digest = hashlib.sha256(half_precision_file(model)).hexdigest()
    return Reproduction(**run.to_dict(), sha256=digest, figures=figures, differences=differences(figures, published))


def check_whole(run: TrainingRun, recipe: Recipe) -> None:
    """Raises InputError where the run has not done all that the recipe says: such weights prove nothing."""
    if run.iterations != recipe.iterations:
        raise InputError(
            f"--reproduce: this checkpoint was written after {run.iterations} iterations, the recipe has "
            f"{recipe.iterations}; give the last one of the training, or go on with --resume"
        )


def check_figures(run: Reproduction, config: str, metric: str) -> None:
    """Raises GateError where the main figure, `metric` of `config`, is not that of the published weights."""
    value, change = run.figures[config][metric], run.differences[config][metric]
    if value is None or change is None:
        raise GateError(f"{config}: {metric} has nothing to judge; give the config a data set with objects in it")
    if abs(change) > WITHIN:
        mend = "publish the new weights" if change > 0 else "mend the recipe, or publish weights that it makes"
        raise GateError(
            f"{config}: {metric} is {value:.2f}, {change:+.2f} from the published weights; expected at most {WITHIN} "
            f"either way: {mend}"
        )
