"""How far two arrays are apart, and the records of it: what every task's comparison is made of."""

from zoo.comparison.findings import Borderline, Figure, Findings, merge_figures
from zoo.comparison.tensors import compare_tensor, figure, gate_failure, shape_problem, value_range

__all__ = [
    "Borderline",
    "Figure",
    "Findings",
    "compare_tensor",
    "figure",
    "gate_failure",
    "merge_figures",
    "shape_problem",
    "value_range",
]
