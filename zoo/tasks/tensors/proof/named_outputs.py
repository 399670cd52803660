"""What a module's forward gives, by name."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor

from zoo.errors import InputError, nearest

KEEP = 'keep only the tensors: task=dict(type="Tensors", keep=[{}])'


def named_outputs(output: object, keep: Sequence[str] = ()) -> dict[str, Any]:
    """The parts of an output by name, in order; of those in `keep`, where it names any, in its order.

    A mapping has its keys as names, a named tuple and a dataclass their fields; a tuple or list o0, o1 ..., and a
    tensor by itself o0. A part that is None is no output. The parts may be anything: see `checked`. Raises InputError
    for a name that comes twice, and for one of `keep` that there is not.
    """
    parts: dict[str, Any] = {}
    for name, part in _parts(output):
        if part is None:
            continue
        if name in parts:
            raise InputError(f'output "{name}" comes twice: two keys have the same text; give each its own name')
        parts[name] = part
    for name in keep:
        if name not in parts:
            raise InputError(f'task tensors: the module gives no output "{name}"; {nearest(name, parts, len(parts))}')
    return {name: parts[name] for name in keep} if keep else parts


def tensors(output: object, keep: Sequence[str] = ()) -> dict[str, Tensor]:
    """The same, all of them tensors. Raises InputError for a part that is not, naming it."""
    parts = named_outputs(output, keep)
    if not parts:
        raise InputError("the module gives no output: expected a tensor, or tensors by name")
    good = [name for name, part in parts.items() if isinstance(part, Tensor)]
    for name, part in parts.items():
        if not isinstance(part, Tensor):
            cure = KEEP.format(", ".join(f'"{each}"' for each in good)) if good else "give tensors"
            raise InputError(f'output "{name}" is a {type(part).__name__}, expected a tensor; {cure}')
    return parts


def _parts(output: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(output, Mapping):
        yield from ((str(key), part) for key, part in output.items())
    elif dataclasses.is_dataclass(output):
        yield from ((field.name, getattr(output, field.name)) for field in dataclasses.fields(output))
    elif isinstance(output, tuple | list):
        names = getattr(output, "_fields", None) or (f"o{place}" for place in range(len(output)))
        yield from zip(names, output, strict=True)
    else:
        yield "o0", output
