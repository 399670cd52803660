"""The front door of zooport: the public API under one name. Names load when they are used.

>>> from zooport import load
>>> model = load("work_dirs/detection/faster-rcnn_r18-fpn_digits/onnxruntime-fp32")  # doctest: +SKIP
>>> result = model(image)  # doctest: +SKIP

`load` needs numpy, opencv and onnxruntime alone. A name raises HiddenPackageError, an ImportError, where another `zoo`,
`rewriters`, `backends` or `pipeline` hides zooport's own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from zooport.own_packages import check_packages

if TYPE_CHECKING:
    from backends import load
    from pipeline import align, deploy, evaluate
    from rewriters import export_onnx, rewrites
    from zoo import Target, build_model, list_models

__all__ = [
    "Target",
    "align",
    "build_model",
    "deploy",
    "evaluate",
    "export_onnx",
    "list_models",
    "load",
    "rewrites",
]

_HOMES = {
    "Target": "zoo",
    "align": "pipeline",
    "build_model": "zoo",
    "deploy": "pipeline",
    "evaluate": "pipeline",
    "export_onnx": "rewriters",
    "list_models": "zoo",
    "load": "backends",
    "rewrites": "rewriters",
}


def __getattr__(name: str) -> Any:
    """As zoo.lazy_names has it, but after the check: `zoo` may be another one."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    check_packages()
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
