"""A small model of every family of torchvision's detectors, and its comparison by the project's own gates."""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pipeline.parity.gates import merged_gates
from pipeline.parity.levels import compare_outputs
from tests.rewriters.small_dense_models import SLOTS, dense_contract, small_detector
from tests.rewriters.small_models import (
    contract,
    detection_specs,
    instance_specs,
    keypoint_specs,
    small_faster_rcnn,
    small_keypoint_rcnn,
    small_mask_rcnn,
)
from tests.small_tasks import small_task
from zoo.families import family_of
from zoo.target import AxisRange, Target
from zoo.tasks.contract import Contract
from zoo.tensor_spec import TensorSpec

RCNNS: dict[str, tuple[Callable[..., Any], str, list[TensorSpec]]] = {
    "faster_rcnn": (small_faster_rcnn, "detection", detection_specs(20)),
    "mask_rcnn": (small_mask_rcnn, "instance-segmentation", instance_specs(20)),
    # with fewer boxes: heatmaps of boxes a tenth of a pixel high turn the rounding of a resize into a jump
    "keypoint_rcnn": (
        functools.partial(small_keypoint_rcnn, box_score_thresh=0.5),
        "keypoint-detection",
        keypoint_specs(20),
    ),
}
DENSE = ("retina_net", "fcos", "ssd")
FAMILIES = (*RCNNS, *DENSE)
DYNAMIC = Target({"height": AxisRange(32, 64, 200), "width": AxisRange(32, 96, 200)})


@functools.cache
def small(family: str) -> Any:
    """A model that has seen an image: MultiScaleRoIAlign takes the scales of its levels from the first."""
    model: Any = RCNNS[family][0]() if family in RCNNS else small_detector(family)
    with torch.no_grad():
        model(list(sample_images(1, 64, 96)))
    return model


def contract_of(model: Any, family: str, level: str = "final") -> Contract:
    return contract(model, level) if family in RCNNS else dense_contract(model, level)


def specs_of(family: str) -> Any:
    return RCNNS[family][2] if family in RCNNS else detection_specs(SLOTS)


def task_of(family: str) -> str:
    return RCNNS[family][1] if family in RCNNS else "detection"


def sample_images(count: int, height: int = 64, width: int = 96, seed: int = 0) -> Tensor:
    return torch.rand(count, 3, height, width, generator=torch.Generator().manual_seed(seed))


def outputs(module: Contract, *inputs: Tensor) -> tuple[Tensor, ...]:
    with torch.no_grad():
        found: tuple[Tensor, ...] = module(*inputs)
    return found


def same_findings(
    family: str, model: Any, expected: tuple[Tensor, ...], found: Sequence[np.ndarray], **gates_of_graph: float
) -> int:
    """Fails where the project's gates would, or these ones; gives the number of detections.

    Detections are sets: two of nearly equal scores may change places.
    """
    names = [spec.name for spec in specs_of(family)]
    want = dict(zip(names, [tensor.numpy() for tensor in expected], strict=True))
    got = dict(zip(names, found, strict=True))
    gates = merged_gates({"graph": gates_of_graph})["graph"]
    findings = compare_outputs(
        small_task(task_of(family)), "final", want, got, gates, family_of(model).decision_rule(model)
    )
    assert not findings.failures
    assert len(findings.borderline) <= max(1, 0.02 * want["num_dets"].sum())
    return int(want["num_dets"].sum())


@contextmanager
def lowest_index_first() -> Iterator[None]:
    """torch's top-k and sort with the rule that graphs have for equal values; torch itself has none."""
    own_topk, own_sort = torch.Tensor.topk, torch.Tensor.sort

    def topk(self: Tensor, k: int, dim: int = -1, **_: Any) -> Any:
        values, index = own_sort(self, stable=True, descending=True, dim=dim)
        return values.narrow(dim, 0, k), index.narrow(dim, 0, k)

    def sort(self: Tensor, dim: int = -1, descending: bool = False, **_: Any) -> Any:
        return own_sort(self, stable=True, dim=dim, descending=descending)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "topk", topk)
        patch.setattr(torch, "topk", topk)
        patch.setattr(torch.Tensor, "sort", sort)
        yield
    assert torch.Tensor.topk is own_topk
