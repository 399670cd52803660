"""Functions of torch and torchvision that a trace records wrongly."""

from rewriters.torch_functions import interpolate, nms_guard

__all__ = ["interpolate", "nms_guard"]
