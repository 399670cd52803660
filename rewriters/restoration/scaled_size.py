"""The size of an enlarged image, computed in the graph from its input `scale`.

In eager PyTorch the scale is read out of its tensor as a number of Python's. torchscript freezes that: the file would
enlarge as its example did, whatever its input says. dynamo's first way of tracing refuses it; torch 2.15 then takes
another one, which succeeds, after it has printed the failure of the first.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rewriters.patching.rewriter import rewrites
from rewriters.patching.rewriting import active_target
from zoo.models.restoration import any_scale_srcnn


@rewrites(
    any_scale_srcnn,
    "scaled_size",
    reason="torchscript freezes a scale that Python reads out of its tensor; dynamo's non-strict tracing refuses it",
    written_for="torch 2.15",
)
def scaled_size_in_graph(original: Callable[..., Any], images: Tensor, scale: Tensor) -> Any:  # noqa: ARG001
    """As any_scale_srcnn.scaled_size."""
    height, width = images.shape[-2:]
    if active_target().exporter == "torchscript":
        factor: Any = scale[0]  # a size may be a traced tensor there
    else:
        factor = scale.item()
        torch._check(factor >= 1)  # noqa: SLF001 - documented for export: the exporter must know that no size is 0
    return height * factor, width * factor
