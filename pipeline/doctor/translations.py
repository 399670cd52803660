"""Our symbolic rewriters, by the operator that they translate."""

from collections.abc import Sequence

from pipeline.doctor.attempt import Attempt
from pipeline.doctor.export_variant import ExportVariant, target_of
from rewriters.symbolic import symbolic_for
from zoo.target import Target

ANY_SIZE = Target({})  # rewriters are not chosen by it


def symbolic_rewriter(operator: str, way: ExportVariant) -> str:
    """The name of the one for an operator, as torch names it without the overload; "" where there is none."""
    names = [rewriter.name for rewriter in symbolic_for(target_of(way, ANY_SIZE))]
    return next((name for name in names if name.partition(".")[0] == operator), "")


def proposed_rewriter(operator: str, attempt: Attempt, attempts: Sequence[Attempt]) -> str:
    """The one that may fix an attempt's refusal of an operator.

    "" where the attempt had it, and where the attempt with rewriters was refused because of the same operator.
    """
    if attempt.way.rewriters or not operator:
        return ""
    other = with_rewriters(attempt, attempts)
    refused = other is not None and operator.partition("::")[2].lstrip("_") in other.error
    return "" if refused else symbolic_rewriter(operator, attempt.way)


def with_rewriters(attempt: Attempt, attempts: Sequence[Attempt]) -> Attempt | None:
    """That of the same exporter and opset with rewriters, where there is one."""
    wanted = ExportVariant(attempt.way.exporter, True, attempt.way.opset)
    return next((one for one in attempts if one.way == wanted), None)
