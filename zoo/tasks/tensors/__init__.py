"""The tensors of any module, by name."""

from zoo.tasks.tensors.result import TensorsResult
from zoo.tasks.tensors.task import Tensors

__all__ = ["Tensors", "TensorsResult"]
