"""Loading and running deployments. Needs numpy, opencv and onnxruntime only. Names load when they are used.

>>> from backends import load
>>> model = load("work_dirs/detection/faster-rcnn_r18-fpn_digits/onnxruntime-fp32")  # doctest: +SKIP
>>> result = model(image)  # doctest: +SKIP
"""

from typing import TYPE_CHECKING

from zoo.lazy_names import lazy_names

if TYPE_CHECKING:
    from backends.availability import available
    from backends.backend import Backend
    from backends.deployment import Deployment
    from backends.loading import load
    from backends.registry import register
    from backends.runner import Runner

__all__ = ["Backend", "Deployment", "Runner", "available", "load", "register"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Backend": "backends.backend",
        "Deployment": "backends.deployment",
        "Runner": "backends.runner",
        "available": "backends.availability",
        "load": "backends.loading",
        "register": "backends.registry",
    },
)
