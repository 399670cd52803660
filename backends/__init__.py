"""Loading and running deployments. Needs numpy, opencv and onnxruntime only. Names load when they are used.

>>> from backends import load
>>> model = load("work_dirs/detection/faster-rcnn_r18-fpn_digits/onnxruntime-fp32")  # doctest: +SKIP
>>> result = model(image)  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backends.availability import available
    from backends.backend import Backend
    from backends.deployment import Deployment
    from backends.loading import load
    from backends.registry import register
    from backends.runner import Runner

__all__ = ["Backend", "Deployment", "Runner", "available", "load", "register"]

_HOMES = {
    "Backend": "backends.backend",
    "Deployment": "backends.deployment",
    "Runner": "backends.runner",
    "available": "backends.availability",
    "load": "backends.loading",
    "register": "backends.registry",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
