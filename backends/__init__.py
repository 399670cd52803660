"""Loading and running deployments. Needs numpy, opencv and onnxruntime only.

>>> from backends import load
>>> model = load("work_dirs/detection/faster-rcnn_r18-fpn_digits/onnxruntime-fp32")  # doctest: +SKIP
>>> result = model(image)  # doctest: +SKIP
"""

from backends.availability import available
from backends.deployment import Deployment
from backends.loading import load
from backends.runner import Runner

__all__ = ["Deployment", "Runner", "available", "load"]
