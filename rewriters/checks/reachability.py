"""Every input must reach an output, and every output must depend on an input.

An output that depends on none is what is left of a trace that took an early return.
"""

from collections.abc import Sequence

import onnx

from rewriters.onnx_graph.reads import reads
from zoo.errors import ExportError

SIZES_ONLY = ("Shape", "Size")  # how large an input is says nothing of what is in it


def check_reachability(model: onnx.ModelProto, input_names: Sequence[str]) -> None:
    """Raises ExportError for a declared input that is missing or unused, and for an output that is a constant."""
    graph = model.graph
    initializers = {initializer.name for initializer in graph.initializer}
    present = [value.name for value in graph.input if value.name not in initializers]
    for name in input_names:
        if name not in present:
            raise ExportError(f'the graph has no input "{name}": the traced path does not read it; {_ADVICE}')
    sources = _sources(graph, set(present))
    reached: set[str] = set()
    for output in graph.output:
        inputs = sources.get(output.name, frozenset())
        if not inputs:
            raise ExportError(f'output "{output.name}" depends on no input: it is a constant; {_ADVICE}')
        reached |= inputs
    for name in present:
        if name not in reached:
            raise ExportError(f'input "{name}" reaches no output; {_ADVICE}')


_ADVICE = (
    "the trace probably took an early return, such as the one for an image without boxes; "
    "export with a real image that has objects, with trained weights, or with a lower score threshold"
)


def _sources(graph: onnx.GraphProto, inputs: set[str]) -> dict[str, frozenset[str]]:
    """For each value of the graph: the graph inputs that it depends on. Nodes are in topological order."""
    sources = {name: frozenset({name}) for name in inputs}
    for node in graph.node:
        if node.op_type in SIZES_ONLY:
            continue
        inputs_behind: frozenset[str] = frozenset().union(*(sources.get(name, frozenset()) for name in reads(node)))
        for name in node.output:
            sources[name] = inputs_behind
    return sources
