"""Naming a tensor for an alignment: `x = mark(x, "features")`, in any model code.

In eager mode the very tensor comes back. In an export of ours a marker node stands in the graph, which leaves the name
on the node before it and is removed; an alignment compares what both sides have under the name.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

Listener = Callable[[str, Tensor], None]
_EXPORTING: ContextVar[bool] = ContextVar("zooport_marks_are_exported", default=False)
_LISTENER: ContextVar[Listener | None] = ContextVar("zooport_marks_are_heard", default=None)


@torch.library.custom_op("zooport::mark", mutates_args=())
def _marker(tensor: Tensor, name: str) -> Tensor:  # noqa: ARG001 - the exporters read it
    """The operator that exporters see; an operator of torch.library may not give its own argument back."""
    return tensor.clone()


@_marker.register_fake
def _(tensor: Tensor, name: str) -> Tensor:  # noqa: ARG001 - the operator's own arguments
    return torch.empty_like(tensor)


def mark(tensor: Tensor, name: str) -> Tensor:
    """The tensor itself, under a name that an alignment pairs by.

    Use what it gives, `x = mark(x, "name")`: what nobody uses is not exported. Several calls with one name are paired
    in their order.
    """
    if _EXPORTING.get():
        marked: Tensor = _marker(tensor, name)
        return marked
    listener = _LISTENER.get()
    if listener is not None:
        listener(name, tensor)
    return tensor


@contextmanager
def exporting_marks() -> Iterator[None]:
    """Marks become nodes while the context lasts; for exports that know the node."""
    token = _EXPORTING.set(True)
    try:
        yield
    finally:
        _EXPORTING.reset(token)


@contextmanager
def hearing_marks(listener: Listener) -> Iterator[None]:
    """`listener(name, tensor)` is called at each mark while the context lasts, in this thread."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
