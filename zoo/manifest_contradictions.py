"""What the parts of a manifest say against one another, and what no machine could do."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from zoo.input_kinds import InputKind
from zoo.tasks import find_task, input_kind_of

MOST_ELEMENTS = 2**31
"""Of the smallest tensor that an input takes: 8 GiB in float32."""


def contradictions(fields: Mapping[str, Any]) -> Iterator[str]:
    """One phrase for each, with its place. `fields`: of a manifest that fits its schema."""
    unbounded = list(_unbounded(fields))
    yield from unbounded
    if not unbounded:
        yield from _sizes(fields, input_kind_of(fields["task"]))
    yield from _names(fields)
    yield from _defaults(fields)
    task = find_task(fields["task"])
    if not fields["classes"] and (task is None or task.has_classes):
        yield "classes: got none, expected one or more"
    for option in fields.get("task_options", {}):
        if task is not None and option not in task.OPTIONS:
            yield f'task_options: task {fields["task"]} has no option "{option}"'


def _unbounded(fields: Mapping[str, Any]) -> Iterator[str]:
    for spec in fields["inputs"]:
        for axis in spec["shape"]:
            if isinstance(axis, str) and axis not in fields["axes"]:
                yield f'inputs: tensor {spec["name"]} has the dynamic axis "{axis}" with no bounds in axes'


def _names(fields: Mapping[str, Any]) -> Iterator[str]:
    for side in ("inputs", "outputs"):
        names = [spec["name"] for spec in fields[side]]
        if len(names) != len(set(names)):
            yield f"{side}: got the names {', '.join(names)}, expected each once"


def _sizes(fields: Mapping[str, Any], kind: InputKind) -> Iterator[str]:
    """Tensors that the preprocessing does not make, or no memory holds."""
    (first, *_), rule, axes = kind.inputs, fields["preprocess"], fields["axes"]
    for spec in fields["inputs"]:
        least = [side if isinstance(side, int) else axes[side]["min"] for side in spec["shape"]]
        if spec["name"] == first.name:
            if len(spec["shape"]) != len(first.shape):
                yield f"inputs: {spec['name']} has {len(spec['shape'])} axes, expected {len(first.shape)}"
                continue
            yield from kind.contradictions(rule, spec, axes)
            least = [*kind.least_shape(rule, least)]
        if math.prod(least) > MOST_ELEMENTS:
            yield f"inputs: {spec['name']} has {math.prod(least)} elements at least, expected {MOST_ELEMENTS} at most"


def _defaults(fields: Mapping[str, Any]) -> Iterator[str]:
    dtypes = {spec["name"]: np.dtype(spec["dtype"]) for spec in fields["inputs"]}
    for name, value in fields.get("defaults", {}).items():
        if name not in dtypes:
            yield f'defaults: no input "{name}"'
            continue
        dtype = dtypes[name]
        bounds = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype) if dtype.kind in "iu" else None
        if bounds is None or not float(bounds.min) <= value <= float(bounds.max):
            yield f"defaults.{name}: got {value}, which is not {dtype}"
