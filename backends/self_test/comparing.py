"""The outputs of a machine beside those that were proved: every difference, output by output."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from backends.self_test import detections, rounded
from backends.self_test.deviation import Deviation, shape_fault
from backends.self_test.kept_part import Array, Arrays, are_detections, kept_values, row_names
from backends.self_test.label_maps import labels
from backends.self_test.rows import partners, row_errors
from backends.self_test.stored import SelfTest
from zoo.tasks.output_role import BOX_FORMS, OutputRole

Numbers = Mapping[str, Any]
SAME = 0.5  # integers that are less than that apart are the same
OWN_UNITS = {
    OutputRole.SCORES: ("scores", ""),
    **{role: next(iter(form.units.items())) for role, form in BOX_FORMS.items()},
}
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
    rows = row_names(test.outputs, test.roles)
    values = [
        labels(name, test, outputs[name], 0.0)
        if test.roles.get(name) is OutputRole.LABEL_MAP
        else _tensor(name, test, outputs[name], gates)
        for name in test.shapes
        if name not in rows
    ]
    return [*values, *_rows(test, outputs, gates, rows)] if rows else values


def _tensor(name: str, test: SelfTest, output: Array, gates: Numbers) -> Deviation:
    """Of the sampled values, as parts of the range of all; of integers the part that changed."""
    if name not in test.ranges:
        changed = kept_values(output) != test.outputs[name]
        detail = f"{int(changed.sum())} of {changed.size} values"
        return Deviation(name, float(changed.mean()), gates.get("changed", 0.0), "of values", detail)
    errors = np.abs(test.outputs[name].astype(np.float64) - kept_values(output)) / test.ranges[name]
    return Deviation.of(name, errors, gates["logits"], "values", "of range")


def _rows(test: SelfTest, outputs: Arrays, gates: Numbers, names: Sequence[str]) -> Iterator[Deviation]:
    """Each kept row has a partner, at its own place or elsewhere, that is within all gates."""
    test, outputs = replace(test, outputs=_as_rows(test, test.outputs)), _as_rows(test, outputs)
    bounds = {name: _row_bound(name, test, gates) for name in names}
    scales = {name: gate * scale for name, (gate, scale, _) in bounds.items()}
    for name, rows in partners(test, outputs, scales).items():
        gate, scale, unit = bounds[name]
        yield Deviation.of(name, row_errors(test.outputs[name], rows) / scale, gate, "rows", unit)


def _as_rows(test: SelfTest, outputs: Arrays) -> dict[str, Array]:
    """The outputs with boxes as the numbers by which rows of them are compared."""
    forms = {name: BOX_FORMS[role] for name, role in test.roles.items() if role in BOX_FORMS}
    return {name: forms[name].rows(output) if name in forms else output for name, output in outputs.items()}


def _row_bound(name: str, test: SelfTest, gates: Numbers) -> tuple[float, float, str]:
    """The gate of a row's values, what they are divided by to be in its unit, and the unit."""
    role = test.roles.get(name)
    if role in OWN_UNITS:
        gate, unit = OWN_UNITS[role]
        return gates[gate], 1.0, unit
    if name not in test.ranges:
        return SAME, 1.0, ""
    return gates["logits"], test.ranges[name], "of range"
