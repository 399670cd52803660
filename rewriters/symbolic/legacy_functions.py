"""torch.autograd.Functions with a `symbolic` method, which is torchscript's way to write an operator of one's own.

torchscript calls `symbolic`. torch.export follows `forward` into the function, which is right where it is made of
torch's operators, and fails where it calls compiled code. Such a failure is refused here with the way out.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.autograd import Function

from zoo.errors import ExportError


def _reason(error: BaseException) -> str:
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


@contextmanager
def refusing_untraceable_functions() -> Iterator[None]:
    """While it lasts, a Function with `symbolic` whose forward the dynamo exporter cannot follow is an ExportError."""
    original = vars(Function)["apply"]
    exporting = threading.get_ident()

    def apply(cls: type[Function], *args: Any, **kwargs: Any) -> Any:
        call = original.__get__(None, cls)
        acts = threading.get_ident() == exporting and torch.onnx.is_in_onnx_export()
        if not acts or not hasattr(cls, "symbolic"):
            return call(*args, **kwargs)
        try:
            return call(*args, **kwargs)
        except Exception as error:
            raise ExportError(
                f"{cls.__module__}.{cls.__qualname__}: dynamo does not call its `symbolic`, but follows its forward, "
                f"and fails there ({_reason(error)}); give --exporter torchscript, or make forward a "
                "torch.library operator with a fake implementation and declare its translation with "
                "@rewriters.symbolic.symbolic"
            ) from error

    Function.apply = classmethod(apply)
    try:
        yield
    finally:
        Function.apply = original
