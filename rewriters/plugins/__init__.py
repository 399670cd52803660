"""TensorRT's plugin nodes that our graph rewriters write, and what they compute, in numpy."""

from rewriters.plugins.domain import PLUGIN_DOMAIN, plugin_nodes
from rewriters.plugins.reference import reference_evaluator

__all__ = ["PLUGIN_DOMAIN", "plugin_nodes", "reference_evaluator"]
