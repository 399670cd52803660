"""Thresholds as inputs of a detector's graph: its own as defaults, and the proof that others work, too."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from torch import nn

from pipeline.parity.graph_inputs import GraphInput
from zoo.errors import InputError
from zoo.input_specs import IOU_THRESHOLD, SCORE_THRESHOLD
from zoo.models.detection.yolov5 import YOLOv5
from zoo.target import Target

OTHERS = ((0.3, 0.3), (0.01, 0.7))  # score and IoU, tried beside the model's own


def default_thresholds(model: nn.Module, target: Target) -> dict[str, float]:
    """The model's own, by the names of the graph's inputs; none where the target asks for none.

    Raises InputError where the target asks for them, and the model has no such inputs.
    """
    if not target.thresholds:
        return {}
    if not isinstance(model, YOLOv5):
        raise InputError(f"export.inputs.thresholds: {type(model).__name__} has none; YOLOv5 has")
    return {SCORE_THRESHOLD.name: model.score_thresh, IOU_THRESHOLD.name: model.nms_thresh}


def threshold_steps(model: nn.Module, target: Target) -> list[dict[str, Any]]:
    """The graph rewriter that makes them inputs."""
    own = default_thresholds(model, target)
    return [{"name": "threshold_inputs", **own}] if own else []


def with_thresholds(given: GraphInput, score: float, iou: float) -> GraphInput:
    """The same case at other thresholds."""
    values = {SCORE_THRESHOLD.name: score, IOU_THRESHOLD.name: iou}
    more = {name: np.array([value], np.float32) for name, value in values.items()}
    return replace(given, arrays={**given.arrays, **more})


@contextmanager
def model_thresholds(model: YOLOv5, score: float, iou: float) -> Iterator[None]:
    """The model decides by these while the context lasts; as its authors would set them."""
    own = model.score_thresh, model.nms_thresh
    model.score_thresh, model.nms_thresh = score, iou
    try:
        yield
    finally:
        model.score_thresh, model.nms_thresh = own
