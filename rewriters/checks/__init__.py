"""What every exported file must pass before it is written."""

from rewriters.checks.check_graph import check_graph

__all__ = ["check_graph"]
