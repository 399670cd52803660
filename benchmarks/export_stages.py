"""Where an export's time goes: the stages of torch's own exporter, timed from outside."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

import torch
from torch.export import ExportedProgram

CAPTURE, DECOMPOSE, TORCH = "capture", "decompose", "torch"
STAGES = {
    CAPTURE: (torch.export, "export"),
    DECOMPOSE: (ExportedProgram, "run_decompositions"),
    TORCH: (torch.onnx, "export"),
}
"""What is timed; the last one is torch's whole part, and holds the others."""


@contextmanager
def stage_seconds() -> Iterator[dict[str, float]]:
    """Seconds of each stage that ran within, by name; torchscript has the last one alone."""
    seconds: dict[str, float] = defaultdict(float)
    with ExitStack() as stack:
        for name, (owner, function) in STAGES.items():
            stack.enter_context(patch.object(owner, function, _timed(getattr(owner, function), name, seconds)))
        yield seconds


def _timed(function: Callable[..., Any], name: str, seconds: dict[str, float]) -> Callable[..., Any]:
    @wraps(function)
    def timed(*args: Any, **kwargs: Any) -> Any:
        begin = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            seconds[name] += time.perf_counter() - begin

    return timed
