"""Rewriters of the models that restore images."""

from rewriters.restoration import scaled_size

__all__ = ["scaled_size"]
