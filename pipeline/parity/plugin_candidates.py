"""From a decode plugin's candidates to detections, by the model's own rule."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewriters.plugins.greedy_nms import class_nms, greedy_nms
from zoo.comparison.decision_rule import DecisionRule

Arrays = Mapping[str, NDArray[Any]]


def final_detections(outputs: Arrays, rule: DecisionRule) -> Arrays:
    """The candidates of a plugin node -> num_dets, boxes, scores, labels as at level final; other outputs as they are.

    What an application does behind the plugin: the score's threshold, the best candidates, NMS, the best detections.
    """
    if set(outputs) != set(rule.candidate_outputs):
        return outputs
    num, boxes, scores, classes = (outputs[name] for name in rule.candidate_outputs)
    assert rule.score is not None
    assert rule.nms_iou is not None
    assert rule.slots is not None
    count, slots = len(num), rule.slots
    detections: dict[str, NDArray[Any]] = {
        "num_dets": np.zeros(count, np.int64),
        "boxes": np.zeros((count, slots, 4), np.float32),
        "scores": np.zeros((count, slots), np.float32),
        "labels": np.full((count, slots), -1, np.int64),
    }
    for image in range(count):
        used = np.flatnonzero(scores[image, : int(num[image, 0])] > rule.score)
        used = used[np.argsort(-scores[image, used], kind="stable")][: rule.candidates]
        candidates = boxes[image, used], scores[image, used]
        if rule.class_agnostic:
            kept = greedy_nms(*candidates, rule.nms_iou)
        else:
            kept = class_nms(*candidates, classes[image, used], rule.nms_iou)
        kept = used[kept[:slots]]
        detections["num_dets"][image] = len(kept)
        for name, values in (("boxes", boxes), ("scores", scores), ("labels", classes)):
            detections[name][image, : len(kept)] = values[image, kept]
    return detections
