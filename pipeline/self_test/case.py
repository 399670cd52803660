"""The input of a self-test, and what the unpatched model gives for it: one case more of the graph comparison."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from backends.self_test.small_image import tensor_of
from pipeline.export.reference_run import ReferenceRun
from pipeline.images.named_image import NamedImage
from pipeline.job.job import Job
from pipeline.parity.graph_inputs import GraphInput
from pipeline.parity.graph_parity import GraphReference, graph_references
from pipeline.self_test.reduced import reduced
from zoo.input_specs import IMAGE_SIZES, IMAGES
from zoo.tasks.proof import proof_of

TRIED = 4  # images at most: each costs a run of PyTorch


@dataclass(frozen=True)
class SelfTestCase:
    """`image`: the name of the one that it was made of. `png`, `size`: see backends.self_test.stored.

    `reference`: what the unpatched model gives.
    """

    image: str

    png: NDArray[np.uint8]
    size: tuple[int, int, int]
    reference: GraphReference

    @property
    def settings(self) -> dict[str, NDArray[Any]]:
        """The graph's inputs beside the images."""
        arrays = self.reference.given.arrays
        return {name: array for name, array in arrays.items() if name != IMAGES.name}


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


def _case(job: Job, model: nn.Module, image: NamedImage) -> SelfTestCase:
    target = job.target
    rule = job.task.kind.rule(job.preprocess)
    sides = (target.preferred["height"], target.preferred["width"])
    rule = replace(rule, size=sides, resize="letterbox" if rule.resize == "keep" else rule.resize)
    placed = rule.placed(image.pixels)
    canvas = np.full((*sides, 3), placed.pad_value, np.uint8)
    height, width = placed.geometry.resized_size
    canvas[:height, :width] = placed.resized
    png, batch = reduced(canvas), target.batch.min
    arrays: dict[str, NDArray[Any]] = {IMAGES.name: tensor_of(png, batch, sides)}
    if target.image_sizes:
        arrays[IMAGE_SIZES.name] = np.array([(height, width)] * batch, np.int64)
    entry = GraphInput((f"{image.name} (self-test)",), arrays)
    (reference,) = graph_references(
        model, job.task, target.level, job.forward, [entry], image_sizes=target.image_sizes, layout=target.layout
    )
    return SelfTestCase(image.name, png, (batch, *sides), reference)


def _digest(image: NamedImage) -> str:
    """What puts images in one order, however they were given."""
    return hashlib.sha256(image.pixels.tobytes()).hexdigest()
