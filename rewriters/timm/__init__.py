"""Rewriters of timm's models, imported when one of them, or a model with such a part, is exported."""

from rewriters.timm import mobilevit, positions

__all__ = ["mobilevit", "positions"]
