"""Passes over the exported graph: what leaks or varies is stripped, shapes and metadata are written in."""

from rewriters.graph_passes.finish import finish

__all__ = ["finish"]
