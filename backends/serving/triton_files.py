"""A model of a repository for NVIDIA's Triton, before it is written."""

from collections.abc import Mapping
from dataclasses import dataclass, field

FIRST_CALL = "warmup"
"""The folder of a model with the inputs of the call that Triton makes first."""
MODEL_PY = '''"""{purpose} Written by zooport triton."""

import os
import sys

sys.path[:0] = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]  # the stub ignores it

from backends.serving.{module} import {name} as TritonPythonModel

__all__ = ["TritonPythonModel"]
'''


@dataclass(frozen=True)
class TritonModel:
    """``config``: the text of config.pbtxt. ``files``: relative to the model's folder -> the content.

    ``deployment``: the folder in it that gets a copy of the deployment's files; None for a model that needs none.
    """

    name: str
    config: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    deployment: str | None = None


def model_py(purpose: str, module: str, name: str) -> bytes:
    """A model.py that takes a class of a module of backends.serving."""
    return MODEL_PY.format(purpose=purpose, module=module, name=name).encode()
