"""What a deployment's records hold, as the tables of its report."""

from collections.abc import Mapping, Sequence

from backends.backend import Built
from pipeline.proof.latency_record import Latency
from pipeline.proof.module_error_record import ModuleError
from pipeline.report.formatting import format_milliseconds, format_shape
from pipeline.report.graph_facts import GraphFacts
from pipeline.report.table import Table
from rewriters import ExportRecord
from zoo.manifest import Manifest


def gate_table(gates: Mapping[str, Mapping[str, float]]) -> Table:
    """Every gate by its comparison and name."""
    rows = [(f"{kind}.{name}", f"{gate:g}") for kind, values in gates.items() for name, gate in values.items()]
    return Table("All gates of this deployment", ("gate", "value"), rows, frozenset({1}))


def module_table(modules: Sequence[ModuleError]) -> Table:
    """One row for each module, in graph order."""
    rows = [(row.module, f"{row.error:.3g}", f"{row.relative:.3g}", row.verdict) for row in modules]
    heads = ("module", "largest error", "part of the range", "verdict")
    return Table("Error of each module", heads, rows, frozenset({1, 2}))


def latency_table(latency: Sequence[Latency]) -> Table:
    """One row for each side that was timed."""
    rows = [
        (
            row.name,
            str(row.batch),
            *(format_milliseconds(value) for value in (row.p50, row.p90, row.p99)),
            str(row.rounds),
        )
        for row in latency
    ]
    heads = ("run by", "batch", "median (ms)", "90 % below (ms)", "99 % below (ms)", "rounds")
    return Table("Time of one call", heads, rows, frozenset({1, 2, 3, 4, 5}))


def operator_table(graph: GraphFacts) -> Table:
    """The most frequent first."""
    rows = [(name, str(count)) for name, count in graph.operators.items()]
    return Table("Operators of the graph", ("operator", "nodes"), rows, frozenset({1}))


def rewriter_table(export: ExportRecord) -> Table:
    """Those that acted, why, and how often."""
    rows = [(fired.name, str(fired.hits), fired.reason) for fired in export.rewriters]
    return Table("Rewriters that acted", ("rewriter", "times", "reason"), rows, frozenset({1}), prose=frozenset({2}))


def tensor_table(manifest: Manifest) -> Table:
    """The inputs, then the outputs."""
    rows = [
        (spec.name, side, spec.dtype, format_shape(spec.shape))
        for side, specs in (("input", manifest.inputs), ("output", manifest.outputs))
        for spec in specs
    ]
    return Table("Inputs and outputs", ("name", "side", "dtype", "shape"), rows)


def precision_table(manifest: Manifest) -> Table | None:
    """What the file holds, and what really computes; None where that was not counted."""
    nodes = manifest.precision.get("nodes")
    if nodes is None:
        return None
    dtypes = sorted({dtype for counts in nodes.values() for dtype in counts})
    rows = [
        (words, *(str(nodes[side].get(dtype, 0)) for dtype in dtypes))
        for side, words in (("stored", "nodes of the file"), ("computed", "computed by the backend"))
    ]
    return Table("What computes in which type", ("", *dtypes), rows, frozenset(range(1, len(dtypes) + 1)))


def profile_table(engine: Built) -> Table:
    """The shapes of each optimization profile."""
    rows = [
        (str(number), name, *(format_shape(shape) for shape in shapes))
        for number, profile in enumerate(engine.profiles)
        for name, shapes in profile.items()
    ]
    return Table("Sizes that the engine takes", ("profile", "input", "smallest", "best at", "largest"), rows)


def file_table(manifest: Manifest) -> Table:
    """What the runtime loads, with sizes and hashes."""
    rows = [(name, f"{file['bytes']}", file["sha256"]) for name, file in manifest.files.items()]
    return Table("Files that the runtime loads", ("file", "bytes", "sha256"), rows, frozenset({1}), frozenset({2}))
