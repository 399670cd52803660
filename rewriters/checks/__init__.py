"""What every exported file must pass before it is written."""

from rewriters.checks.check_graph import check_graph
from rewriters.checks.other_sizes import check_other_sizes

__all__ = ["check_graph", "check_other_sizes"]
