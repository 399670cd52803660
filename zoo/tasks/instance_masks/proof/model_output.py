"""The two forms in which a model gives instances: as queries, of which they are made here, or as themselves."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from zoo.tasks.instance_masks.proof.found_masks import (
    FOUND_OUTPUT,
    FoundMasks,
    are_found,
    found_instances,
    found_masks_of,
)
from zoo.tasks.instance_masks.proof.instances import Instances, instances
from zoo.tasks.instance_masks.proof.queries import CLASSES, MASKS, MODEL_OUTPUT, Queries, are_queries, queries_of

EITHER_OUTPUT = f"{MODEL_OUTPUT}, or {FOUND_OUTPUT}"
Judge = Queries | FoundMasks
"""What PyTorch has of one image."""


def is_either(output: object) -> bool:
    """Whether a model's output is EITHER_OUTPUT."""
    return are_queries(output) or are_found(output)


def instances_of(model: nn.Module, output: Mapping[str, Tensor]) -> Instances:
    """Of a batch: at most as many as the model's `detections_per_img`, or as there are queries."""
    if are_found(output):
        return found_instances(output)
    return instances(output[CLASSES], output[MASKS], getattr(model, "detections_per_img", None))


def judges_of(output: Mapping[str, Any]) -> list[Judge]:
    """Of each image of a batch."""
    return [*found_masks_of(output)] if are_found(output) else [*queries_of(output)]
