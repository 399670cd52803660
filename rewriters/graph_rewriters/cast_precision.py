"""fp16 as a typed graph, by hand: what zooport deploy makes of --precision fp16, without measured overflows."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

import onnx

from rewriters.graph_passes.fold_constants import fold_constants
from rewriters.graph_rewriters.graph_rewriter import Edited, graph_rewriter
from rewriters.onnx_graph.scopes import every_graph
from rewriters.precision.caster import cast_to_fp16, label
from rewriters.precision.islands import islands
from rewriters.precision.modules import nodes_of_modules
from zoo.errors import ExportError, InputError, nearest


@graph_rewriter(same_numbers=False)
def cast_precision(
    model: onnx.ModelProto,
    *,
    precision: str = "fp16",
    keep: Sequence[str] = (),
    keep_fp32: Sequence[str] = (),
    everywhere: bool = False,
) -> Edited:
    """Compute the networks in fp16, with fp16 weights; inputs and outputs keep their dtypes.

    `keep`: operators, or names of nodes, `keep_fp32`: names of PyTorch modules, with * and ?, that stay in fp32,
    besides what is before the first layer, after the last one, or unsafe in fp16 (rewriters.precision.islands).
    `everywhere`: outside the networks, too, but for what is unsafe: places in large images lose pixels. Subgraphs and
    custom nodes stay in fp32 as a whole; so does a node with a constant that fp16 cannot hold, and the report says so.
    Constants are folded first: only then are they known. What overflows at run time is not known here.
    """
    if precision != "fp16":
        raise InputError(f'cast_precision: precision is "{precision}", expected "fp16"')
    _check_keep(model, keep)
    folded = onnx.ModelProto()
    folded.CopyFrom(model)
    fold_constants(folded)
    stays = {**islands(folded, everywhere=everywhere), **nodes_of_modules(folded, keep_fp32)}
    for place, node in enumerate(folded.graph.node):
        if any(fnmatchcase(word, pattern) for pattern in keep for word in (node.op_type, node.name)):
            stays[place] = "kept"
    labels = [label(node) for node in folded.graph.node]
    casting = cast_to_fp16(folded, stays)
    if not casting.halves:
        return model, []
    changes = [f"{labels[place]} computes in fp16" for place in casting.halves]
    return folded, [*changes, *(f"{labels[place]} stays fp32: {why}" for place, why in casting.refused.items())]


def _check_keep(model: onnx.ModelProto, keep: Sequence[str]) -> None:
    names = {word for graph in every_graph(model.graph) for node in graph.node for word in (node.op_type, node.name)}
    for pattern in keep:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ExportError(
                f'cast_precision: keep: no node is or is named "{pattern}"; {nearest(pattern, sorted(names))}'
            )
