"""Which outputs a module has, learned from two runs of it; and whether each of them can be deployed."""

from collections.abc import Collection, Mapping, Sequence

import torch
from torch import Tensor

from zoo.errors import InputError

DTYPES = {
    *(torch.float16, torch.float32, torch.float64, torch.bool),
    *(torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
}
LEAVE_OUT = "or leave it out of task.keep"
ROWS_DIMS = 2  # at least: [N, P, ...]


def check_outputs(
    runs: Sequence[tuple[int, Mapping[str, Tensor]]], inputs: Collection[str], rows: Collection[str]
) -> None:
    """`runs`: the size of the batch and the outputs of each, of different images of one size. `inputs`: names of the
    graph's inputs. Raises InputError, naming the output.
    """
    names = next(outputs for _, outputs in runs)
    _check_names(names, inputs)
    for batch, outputs in runs:
        if outputs.keys() != names.keys():
            raise InputError(
                f"the module gives the outputs {', '.join(outputs)} for one batch and {', '.join(names)} for another; "
                "give the same ones for all images"
            )
        for name, tensor in outputs.items():
            if fault := _fault(tensor, batch):
                raise InputError(f'output "{name}" {fault}')
    for name in names:
        _check_shape(name, [list(outputs[name].shape) for _, outputs in runs])
    _check_rows(names, rows)


def _check_names(names: Collection[str], inputs: Collection[str]) -> None:
    for name in names:
        if name in inputs:
            raise InputError(f'output "{name}" has the name of the graph\'s input; give it another name in the module')
        if not (name and name.isprintable()):
            raise InputError(f"output {name!r}: expected a name of printable characters; rename it in the module")


def _check_shape(name: str, shapes: Sequence[list[int]]) -> None:
    """Of one output, for batches of images of one size."""
    other = next((shape for shape in shapes if shape[1:] != shapes[0][1:]), None)
    if other is not None:
        raise InputError(
            f'output "{name}": its shape depends on the data: {shapes[0]} for one batch, {other} for another of the '
            f"same height and width; give a fixed number, padded, {LEAVE_OUT}"
        )


def _fault(tensor: Tensor, batch: int) -> str | None:
    shape = list(tensor.shape)
    if tensor.dtype not in DTYPES or tensor.layout is not torch.strided:
        kind = str(tensor.dtype if tensor.layout is torch.strided else tensor.layout).removeprefix("torch.")
        return f"is {kind}, which no backend gives; convert it in the module, {LEAVE_OUT}"
    if not shape or shape[0] != batch:
        return (
            f"has the shape {shape} for a batch of {batch}: expected the batch as its first axis; change the module, "
            f"{LEAVE_OUT}"
        )
    if not tensor.numel():
        return f"is empty: {shape}; nothing of it could be compared; {LEAVE_OUT.removeprefix('or ')}"
    if not tensor.isfinite().all():
        return f"has NaN or infinity in PyTorch itself; check the weights and the preprocessing, {LEAVE_OUT}"
    return None


def _check_rows(outputs: Mapping[str, Tensor], rows: Collection[str]) -> None:
    """Outputs whose rows are a set together: of one length."""
    lengths = {}
    for name in rows:
        if name not in outputs:
            raise InputError(f'task tensors: rows has "{name}", which is not an output; there are {", ".join(outputs)}')
        if outputs[name].ndim < ROWS_DIMS:
            raise InputError(f'output "{name}" has the shape {list(outputs[name].shape)}, and no rows [N, P, ...]')
        lengths[name] = outputs[name].shape[1]
    if len(set(lengths.values())) > 1:
        words = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"task tensors: the outputs in rows must have the same number of rows, got {words}")
