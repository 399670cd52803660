"""The ranges of input shapes that an engine is built and tuned for."""

from collections.abc import Mapping, Sequence

from zoo.errors import InputError
from zoo.input_specs import SETTINGS
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

Shape = tuple[int, ...]
ShapeRange = tuple[Shape, Shape, Shape]
Profile = Mapping[str, ShapeRange]
"""An input's name -> its (min, opt, max) shapes. The engine takes all between, and is tuned for opt."""


def profiles(
    inputs: Sequence[TensorSpec], axes: Mapping[str, AxisRange], batches: Sequence[int] = ()
) -> tuple[Profile, ...]:
    """The profile of the whole range, then one for each of `batches`, with the batch fixed and other axes as they are.

    `axes`: the bounds of each axis that a shape of `inputs` names. The batch is the first axis of the inputs.
    Raises InputError for an axis without bounds, and for a batch that the graph does not take.
    """
    for spec in inputs:
        for axis in spec.shape:
            if isinstance(axis, str) and axis not in axes:
                raise InputError(f'input "{spec.name}": axis "{axis}" has no bounds; give its min:opt:max')
    return _profile(inputs, axes), *(
        _profile(inputs, _with_batch(inputs, axes, size)) for size in dict.fromkeys(batches)
    )


def _profile(inputs: Sequence[TensorSpec], axes: Mapping[str, AxisRange]) -> Profile:
    return {spec.name: _shape_range(spec, axes) for spec in inputs}


def _shape_range(spec: TensorSpec, axes: Mapping[str, AxisRange]) -> ShapeRange:
    sides = [axes[side] if isinstance(side, str) else AxisRange.fixed(side) for side in spec.shape]
    return tuple(s.min for s in sides), tuple(s.opt for s in sides), tuple(s.max for s in sides)


def batch_axis(inputs: Sequence[TensorSpec]) -> int | str | None:
    """The first axis of the inputs that are no settings: its name where it is dynamic, else its size."""
    return next((spec.shape[0] for spec in inputs if spec.name not in SETTINGS and spec.shape), None)


def _with_batch(inputs: Sequence[TensorSpec], axes: Mapping[str, AxisRange], size: int) -> Mapping[str, AxisRange]:
    batch = batch_axis(inputs)
    check_batch(size, axes[batch] if isinstance(batch, str) else AxisRange.fixed(batch or size))
    assert isinstance(batch, str)  # an axis that is not dynamic has no batch of its own
    return {**axes, batch: AxisRange.fixed(size)}


def check_batch(size: int, batch: AxisRange) -> None:
    """Raise InputError where a batch `size` cannot have a profile of its own. `batch`: those that the graph takes."""
    if not batch.dynamic:
        raise InputError(f"engine option batches: got {size}, but the graph's batch is fixed; leave the option out")
    if size not in batch:
        raise InputError(
            f"engine option batches: got {size}, expected {batch.min} to {batch.max}, the graph's range; give "
            "--dynamic batch=MIN:OPT:MAX with room for it"
        )
