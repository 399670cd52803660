"""Rewriters of what several of OpenMMLab's libraries have, each under names of its own."""

from rewriters.openmmlab.swin import declare_swin

__all__ = ["declare_swin"]
