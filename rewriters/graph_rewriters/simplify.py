"""onnxslim, whose result is tried before it is believed, and which may change nothing that a user sees.

onnxslim 0.1.98 loses the metadata of nodes, makes constants of inputs that have defaults, declares values twice, and
adds a handler to its log.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import onnx

from rewriters.checks.same_numbers import compare_graphs
from rewriters.graph_rewriters.defaults import check_no_defaults
from rewriters.graph_rewriters.graph_rewriter import Edited, graph_rewriter
from rewriters.onnx_graph.custom_nodes import custom_nodes, format_custom_nodes
from rewriters.onnx_graph.keep_metadata import keep_metadata
from rewriters.onnx_graph.scopes import every_graph
from zoo.byte_sizes import MEBIBYTE
from zoo.errors import BackendUnavailableError, ExportError

TIMES = 5  # at most, until nothing changes any more

Slim = Callable[..., onnx.ModelProto]


@graph_rewriter()
def simplify(model: onnx.ModelProto, *, max_bytes: int = MEBIBYTE) -> Edited:
    """Fuse, fold and drop what onnxslim can, then prove on random inputs that the graph computes the same.

    `max_bytes`: larger results are not folded. Inputs, outputs, their dynamic axes, names and metadata stay. Refused: a
    graph with custom nodes, which cannot be tried, and a result whose numbers differ.
    """
    slim = _onnxslim()
    check_no_defaults(model)
    if custom := format_custom_nodes(custom_nodes(model)):
        raise ExportError(f"simplify: {custom}: ONNX Runtime does not know them, so that nothing could be proved")
    result = model
    for _ in range(TIMES):
        after = _slimmed(slim, result, max_bytes)
        if _nodes(after) == _nodes(result):
            break
        result = after
    if result is model:
        return model, []
    compared = compare_graphs(model, result)
    if not compared.same:
        problem = compared.unequal or f"it cannot be tried: {compared.not_run}"
        raise ExportError(f"simplify: not proved to compute the same: {problem}")
    before, now = _nodes(model), _nodes(result)
    new = len(set(now) - set(before))
    counts = f"{len(before)} nodes are {len(now)} now, {new} of them changed"
    return result, [f"{counts}; largest difference {compared.difference:.1e}"]


def _onnxslim() -> Slim:
    try:
        from onnxslim import slim
    except ImportError as error:
        raise BackendUnavailableError("simplify needs onnxslim: install zooport[export]") from error
    return slim  # type: ignore[no-any-return]  # it has no types


def _slimmed(slim: Slim, model: onnx.ModelProto, max_bytes: int) -> onnx.ModelProto:
    """The result of onnxslim, with all that it must not change as it was."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    try:
        with _quiet():
            result = slim(copy, size_threshold=max_bytes)
    except Exception as error:  # its own and those of the libraries below it are of all classes
        raise ExportError(f"simplify: onnxslim refuses the graph: {type(error).__name__}: {error}") from error
    computed = {name for node in result.graph.node for name in node.output}
    values = [value for value in model.graph.value_info if value.name in computed]
    for field, items in (
        (result.opset_import, model.opset_import),
        (result.graph.input, model.graph.input),
        (result.graph.output, model.graph.output),
        (result.graph.value_info, values),
    ):
        del field[:]
        field.extend(items)
    keep_metadata(result, model)
    return result


def _nodes(model: onnx.ModelProto) -> list[str]:
    """Every node, as far as two runs of onnxslim have to agree on it."""
    return [
        f"{node.domain}::{node.op_type} {list(node.input)} {list(node.output)}"
        for graph in every_graph(model.graph)
        for node in graph.node
    ]


@contextmanager
def _quiet() -> Iterator[None]:
    """onnxslim's log without the handler that it adds."""
    log = logging.getLogger("onnxslim")
    handlers, level = list(log.handlers), log.level
    log.addHandler(logging.NullHandler())  # it adds its own only where there is none
    try:
        yield
    finally:
        log.handlers[:] = handlers
        log.setLevel(level)
