"""The outputs of a machine beside those that were proved: every difference, output by output."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from backends.self_test import detections, rounded
from backends.self_test.deviation import Deviation, shape_fault
from backends.self_test.kept_part import Array, Arrays, are_detections, are_rows, kept_values
from backends.self_test.label_maps import labels
from backends.self_test.rows import partners, row_errors
from backends.self_test.stored import SelfTest
from zoo.tasks.output_role import OutputRole

Numbers = Mapping[str, Any]
OWN_UNITS = {OutputRole.BOXES: ("boxes", "px"), OutputRole.SCORES: ("scores", "")}
"""Outputs in rows -> the gate and its unit; all others are judged as parts of their range."""


def deviations(test: SelfTest, outputs: Arrays, gates: Numbers, thresholds: Numbers) -> list[Deviation]:
    """How far each of `outputs`, by name, is from what the self-test keeps of it. An output of another shape, and one
    that is missing, cannot be compared.

    `gates`: those of the graph comparison, or those of `rounded`, for what was proved below fp32.
    """
    faults = [
        Deviation.broken(name, fault)
        for name, shape in test.shapes.items()
        if (fault := "is missing" if name not in outputs else shape_fault(shape, outputs[name]))
    ]
    if faults:
        return faults
    if rounded.DISTANCE in gates:
        return rounded.deviations(test, outputs, gates)
    if are_detections(test.outputs, test.roles):
        proved, actual = (detections.of_images(side, test.roles) for side in (test.outputs, outputs))
        return detections.compare(proved, actual, gates, thresholds)
    if are_rows(test.outputs, test.roles):
        return list(_rows(test, outputs, gates))
    return [
        labels(name, test, outputs[name], 0.0)
        if test.roles.get(name) is OutputRole.LABEL_MAP
        else _tensor(name, test, outputs[name], gates)
        for name in test.shapes
    ]


def _tensor(name: str, test: SelfTest, output: Array, gates: Numbers) -> Deviation:
    """Of the sampled values, as parts of the range of all."""
    errors = np.abs(test.outputs[name].astype(np.float64) - kept_values(output)) / test.ranges[name]
    return Deviation.of(name, errors, gates["logits"], "values", "of range")


def _rows(test: SelfTest, outputs: Arrays, gates: Numbers) -> Iterator[Deviation]:
    """Each kept row has a partner, at its own place or elsewhere, that is within all gates."""
    own = {name: OWN_UNITS[role] for name in test.shapes if (role := test.roles.get(name)) in OWN_UNITS}
    scales = {name: gates[own[name][0]] if name in own else gates["logits"] * test.ranges[name] for name in test.shapes}
    for name, rows in partners(test, outputs, scales).items():
        gate, unit = own.get(name, ("logits", "of range"))
        errors = row_errors(test.outputs[name], rows) / scales[name] * gates[gate]
        yield Deviation.of(name, errors, gates[gate], "rows", unit)
