"""The table applied to a graph."""

from collections.abc import Iterable

import onnx

from backends.preflight import Row
from backends.registry import get_backend
from pipeline.preflight.finding import Finding, FoundNode
from pipeline.preflight.site import sites
from zoo.errors import ExportError
from zoo.target import Target


def preflight(model: onnx.ModelProto, target: Target) -> tuple[Finding, ...]:
    """What the target's backend refuses of a graph, or is known to compute wrongly, in graph order; () for nothing.

    Subgraphs are searched as well. One finding for each row of the table, with all its nodes.
    """
    rows = get_backend(target.backend).preflight_rows()
    matches: dict[str, tuple[Row, list[FoundNode]]] = {}
    for site in sites(model, target) if rows else ():
        for row in rows:
            if row.hits(site):
                matches.setdefault(row.name, (row, []))[1].append(FoundNode.of(site.node))
    return tuple(Finding(row, tuple(nodes), target.backend) for row, nodes in matches.values())


def steps(findings: Iterable[Finding]) -> list[str]:
    """The names of the graph rewriters that cure what was found, as rewrite_graph takes them."""
    return list(dict.fromkeys(finding.row.rewriter for finding in findings if finding.action == "rewrite"))


def refuse(findings: Iterable[Finding], *, rewritten: bool = False) -> ExportError | None:
    """The error for what the backend will not take, in one line, for the caller to raise; None where it takes all.

    `rewritten`: the graph went through the `steps` already, so that what they were to cure is refused, too.
    """
    actions = ("refuse", "rewrite") if rewritten else ("refuse",)
    refused = [finding for finding in findings if finding.action in actions]
    if not refused:
        return None
    return ExportError(f"{refused[0].backend} cannot take the graph: " + "; also ".join(map(str, refused)))
