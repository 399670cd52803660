"""Thresholds as inputs of a detector's graph: its own as defaults, and the proof that others work, too."""

from dataclasses import replace
from typing import Any

import numpy as np
from torch import nn

from pipeline.parity.graph_inputs import GraphInput
from zoo.errors import InputError
from zoo.families import family_of, who_has
from zoo.input_specs import IOU_THRESHOLD, SCORE_THRESHOLD
from zoo.target import Target

OTHERS = ((0.3, 0.3), (0.01, 0.7))  # score and IoU, tried beside the model's own


def default_thresholds(model: nn.Module, target: Target) -> dict[str, float]:
    """The model's own, by the names of the graph's inputs; none where the target asks for none.

    Raises InputError where the target asks for them, and the model has no such inputs.
    """
    if not target.thresholds:
        return {}
    family = family_of(model)
    if not family.takes_thresholds:
        having = who_has(lambda one: one.takes_thresholds)
        raise InputError(f"export.inputs.thresholds: {type(model).__name__} has no such inputs; {having}")
    rule = family.decision_rule(model)
    assert rule.score is not None
    assert rule.nms_iou is not None
    return {SCORE_THRESHOLD.name: rule.score, IOU_THRESHOLD.name: rule.nms_iou}


def threshold_steps(model: nn.Module, target: Target) -> list[dict[str, Any]]:
    """The graph rewriter that makes them inputs."""
    defaults = default_thresholds(model, target)
    return [{"name": "threshold_inputs", **defaults}] if defaults else []


def with_thresholds(entry: GraphInput, score: float, iou: float) -> GraphInput:
    """The same case at other thresholds."""
    values = {SCORE_THRESHOLD.name: score, IOU_THRESHOLD.name: iou}
    more = {name: np.array([value], np.float32) for name, value in values.items()}
    return replace(entry, arrays={**entry.arrays, **more})
