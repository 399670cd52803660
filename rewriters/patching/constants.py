"""Values that must be constants of the graph: computed while no tracer looks."""

import threading
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.jit._trace import TracerWarning

Result = TypeVar("Result")


def untraced(compute: Callable[[], Result]) -> Result:
    """The result of `compute()`, run as plain eager PyTorch although an export runs around it.

    Tracing state and dispatch modes belong to a thread, so another thread has none of them. An exception of
    `compute` is raised here.
    """
    results: list[Result] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            with torch.no_grad():
                results.append(compute())
        except BaseException as error:  # noqa: BLE001  # handed to the caller below, whatever it is
            errors.append(error)

    thread = threading.Thread(target=work, name="zooport-untraced")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def static_size(x: Tensor) -> tuple[int, int]:
    """(H, W) of [..., H, W] as plain ints; only for targets with fixed height and width."""
    height, width = as_ints(x.shape[-2:])
    return height, width


def as_ints(sizes: Iterable[Any]) -> tuple[int, ...]:
    """Sizes that a tracer may hold as tensors, as plain ints, without its warning that they are frozen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TracerWarning)
        return tuple(int(size) for size in sizes)
