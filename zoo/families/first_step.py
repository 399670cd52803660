"""What a graph does with its input before the model."""

from typing import Any

import numpy as np
from torch import nn

from zoo.errors import InputError
from zoo.families.registry import family_of
from zoo.input_kinds.proof import input_proof
from zoo.tasks import Task


def first_step(model: nn.Module, task: Task, rule: Any) -> nn.Module | None:
    """The part of the preprocessing `rule` that is inside the graph: mean and std of images; None where it has none.

    Raises InputError for a model that normalises its images itself: they would be normalised twice.
    """
    proof = input_proof(task.kind)
    step, values = proof.graph_step(rule), family_of(model).own_normalization(model)
    if proof.step_constants(rule) and values is not None:
        mean, std = ([round(float(value), 4) for value in np.ravel(one)] for one in values)
        raise InputError(
            f"preprocess: mean and std with {type(model).__name__}, which normalises its images itself (mean {mean}, "
            f"std {std}); leave mean and std out of preprocess, or build the model with image_mean=(0, 0, 0) and "
            "image_std=(1, 1, 1)"
        )
    return step
