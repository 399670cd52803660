"""PyTorch: the unpatched model in eager mode, which all others are compared with."""

from backends.pytorch.backend import PyTorch

__all__ = ["PyTorch"]
