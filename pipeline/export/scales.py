"""The scale as an input of a super-resolution graph: the proof that the others work, too."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from torch import nn

from pipeline.parity.graph_inputs import GraphInput
from zoo.families import family_of
from zoo.input_specs import SCALE
from zoo.target import AxisRange


def at_other_scales(model: nn.Module, inputs: Sequence[GraphInput]) -> Iterator[GraphInput]:
    """The first and the last of the cases at each scale that the model is trained for, but for its default.

    None for a model whose scale is no input.
    """
    scales = family_of(model).scales(model)
    if scales is None or not scales.is_input:
        return
    for scale in scales.values:
        if scale != scales.default:
            for entry in (inputs[0], inputs[-1]):
                yield replace(entry, arrays={**entry.arrays, SCALE.name: np.array([scale], np.int64)})


def shape_values(model: nn.Module) -> Mapping[str, AxisRange]:
    """The values of inputs that decide the graph's shapes: those between the model's smallest scale and its largest."""
    scales = family_of(model).scales(model)
    if scales is None or not scales.is_input:
        return {}
    return {SCALE.name: AxisRange(min(scales.values), scales.default, max(scales.values))}
