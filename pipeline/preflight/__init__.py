"""What a backend will refuse of a graph, or is known to compute wrongly, before it is built."""

from pipeline.preflight.check import preflight, refuse, steps
from pipeline.preflight.explain import explain
from pipeline.preflight.finding import Finding, FoundNode
from pipeline.preflight.table import all_rows

__all__ = ["Finding", "FoundNode", "all_rows", "explain", "preflight", "refuse", "steps"]
