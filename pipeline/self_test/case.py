"""The input of a self-test, and what the unpatched model gives for it: one case more of the graph comparison."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from torch import nn

from pipeline.export.reference_run import ReferenceRun
from pipeline.inputs.named_input import NamedInput
from pipeline.job.eager import job_references
from pipeline.job.job import Job
from pipeline.parity.graph_inputs import GraphInput
from pipeline.parity.graph_parity import GraphReference
from zoo.input_kinds.proof import input_proof
from zoo.tasks.proof import proof_of

TRIED = 4  # images at most: each costs a run of PyTorch


@dataclass(frozen=True)
class SelfTestCase:
    """`image`: the name of the one that it was made of. `packed`, `settings`: see backends.self_test.stored.

    `reference`: what the unpatched model gives.
    """

    image: str
    packed: Mapping[str, NDArray[Any]]
    settings: Mapping[str, NDArray[Any]]
    reference: GraphReference


def self_test_case(job: Job, model: nn.Module, reference: ReferenceRun) -> SelfTestCase | None:
    """Of the image in which the model found most and, made small, still finds something; None at level plugin, whose
    nodes no backend here runs. ``model``: unpatched, before any export.
    """
    if job.target.level == "plugin":
        return None
    counts = [job.task.amount(entry.result) for entry in reference.pipeline]
    keys = [(-count, _digest(image)) for count, image in zip(counts, job.images, strict=True)]
    case = None
    for index in sorted(range(len(keys)), key=keys.__getitem__)[:TRIED]:
        case = _case(job, model, job.images[index])
        if not proof_of(job.task).is_blank(case.reference.outputs):
            break
    return case


def _case(job: Job, model: nn.Module, image: NamedInput) -> SelfTestCase:
    target, kind = job.target, job.task.kind
    packed, settings = input_proof(kind).packed(
        image.value, target.preferred, job.preprocess, target.batch.min, image_sizes=target.image_sizes
    )
    entry = GraphInput((f"{image.name} (self-test)",), {**kind.unpacked(packed), **settings})
    (reference,) = job_references(job, model, [entry])
    return SelfTestCase(image.name, packed, settings, reference)


def _digest(image: NamedInput) -> str:
    """What puts images in one order, however they were given."""
    return hashlib.sha256(image.value.tobytes()).hexdigest()
