"""mmcv.ops.batched_nms: a head that still calls it in an export has no rewriter."""

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, NoReturn

from torch import nn

from rewriters.mmdetection.versions import WRITTEN_FOR
from rewriters.patching.rewriter import rewrites
from zoo.errors import ExportError


@rewrites(
    import_module("mmcv.ops.nms"),  # mmcv.ops has a function of the same name
    "batched_nms",
    reason="the number of boxes that it keeps depends on the data: a graph of it would be wrong for other images",
    written_for=WRITTEN_FOR,
)
def batched_nms_refused(_original: Callable[..., Any], *_arguments: Any, **_options: Any) -> NoReturn:
    """Raises ExportError that names the head."""
    head = calling_module()
    raise ExportError(
        f"{head} calls mmcv.ops.batched_nms, whose result depends on the data in its length, and zooport has no "
        f"rewriter for this head; declare one for its predict_by_feat (docs/rewriters.md), or use a model of "
        "docs/openmmlab.md's list"
    )


def calling_module() -> str:
    """The class of the module of the model that is nearest up the stack."""
    frame = inspect.currentframe()
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, nn.Module):
            return type(owner).__qualname__
        frame = frame.f_back
    return "the model"
