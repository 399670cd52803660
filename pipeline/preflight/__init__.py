"""What a backend will refuse of a graph, or is known to compute wrongly, before it is built."""

from pipeline.preflight.check import preflight, refuse, steps
from pipeline.preflight.explain import explain
from pipeline.preflight.finding import Finding, FoundNode
from pipeline.preflight.row import Row
from pipeline.preflight.table import ROWS

__all__ = ["ROWS", "Finding", "FoundNode", "Row", "explain", "preflight", "refuse", "steps"]
