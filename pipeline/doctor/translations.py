"""Our symbolic rewriters, by the operator that they translate."""

from rewriters.symbolic import SYMBOLIC_REWRITERS


def symbolic_rewriter(operator: str, exporter: str) -> str:
    """The name of the one for an operator, as torch names it without the overload; "" where there is none."""
    for rewriter in SYMBOLIC_REWRITERS:
        limits, name = rewriter.limits, rewriter.name
        for_this = limits.exporter in (None, exporter) and limits.backend in (None, "onnxruntime")
        if for_this and name.partition(".")[0] == operator:
            return name
    return ""
