"""Whether a state dict is one of a model: names, shapes, and kinds of numbers. Needs torch."""

from collections.abc import Mapping

import torch
from torch import Tensor

from zoo.class_count import StateMismatchError
from zoo.errors import InputError

COUNTER = "num_batches_tracked"  # of batch norm: a training statistic that no inference reads
WEIGHTS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)  # what floating-point weights are stored as
SHOWN = 3  # names of tensors in an error message


def check_fits(expected: Mapping[str, Tensor], state: Mapping[str, Tensor], what: str) -> None:
    """Raises StateMismatchError for tensors that are missing, unknown, or of another shape. `what` names the state."""
    missing = [key for key in expected if key not in state and not key.endswith(COUNTER)]
    unexpected = [key for key in state if key not in expected]
    shapes = {
        key: (tuple(state[key].shape), tuple(expected[key].shape))
        for key in expected
        if key in state and state[key].shape != expected[key].shape
    }
    other = [f"{key} {list(saved)} for {list(own)}" for key, (saved, own) in shapes.items()]
    faults = [
        f"{len(keys)} {fault} ({', '.join(keys[:SHOWN])}{', ...' if len(keys) > SHOWN else ''})"
        for fault, keys in (("missing", missing), ("unknown", unexpected), ("of another shape", other))
        if keys
    ]
    if faults:
        raise StateMismatchError(
            f"{what} is not of this model: of {len(expected)} tensors "
            + ", ".join(faults)
            + "; give the checkpoint that was trained with this config",
            {} if missing or unexpected else shapes,
        )


def check_dtypes(model_state: Mapping[str, Tensor], state: Mapping[str, Tensor], what: str) -> None:
    """Raises InputError where values would become others: loading converts between all dtypes in silence.

    Floating-point weights may be stored in any of WEIGHTS, integers in fewer bits than the model's, everything
    else in the model's dtype; batch norm's counters, which no inference reads, in any real one.
    """
    for name, tensor in state.items():
        wanted, dtype = model_state[name].dtype, tensor.dtype
        if dtype == wanted or (name.endswith(COUNTER) and not dtype.is_complex):
            continue
        is_widened = _is_whole(dtype) and _is_whole(wanted) and torch.promote_types(dtype, wanted) == wanted
        if not is_widened and not (wanted in WEIGHTS and dtype in WEIGHTS):
            expected = " or ".join(map(_format_dtype, WEIGHTS if wanted in WEIGHTS else (wanted,)))
            raise InputError(
                f'{what}: tensor "{name}" is {_format_dtype(dtype)}, expected {expected}; give the checkpoint as it '
                "was trained, before any quantisation"
            )


def _is_whole(dtype: torch.dtype) -> bool:
    return not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)


def _format_dtype(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
