"""A piece of a graph as a graph of its own.

x -> A -> y -> B -> z      inputs=y  ->  y -> B -> z      outputs=y  ->  x -> A -> y
"""

from collections.abc import Sequence

import onnx

from rewriters.graph_rewriters.graph_rewriter import Edited, graph_rewriter
from rewriters.graph_rewriters.module_ends import module_ends
from rewriters.graph_rewriters.own_sizes import own_sizes
from rewriters.onnx_graph.cut import cut
from zoo.errors import InputError


@graph_rewriter(same_numbers=False)
def extract_submodel(
    model: onnx.ModelProto,
    *,
    inputs: str | Sequence[str] = (),
    outputs: str | Sequence[str] = (),
    module: str | None = None,
) -> Edited:
    """Cut a piece out of a graph: between tensors, or one PyTorch module.

    `inputs`, `outputs`: tensor names; without them the graph's own, or the module's. `module`: its name in
    `dict(model.named_modules())`, or a pattern for several that lie together ("model.[0-9]"); a module that is called
    several times is extracted with all its calls. Metadata and opsets stay.
    """
    starts, ends = _names(inputs), _names(outputs)
    if not starts and not ends and module is None:
        raise InputError("extract_submodel: give inputs, outputs or module, to have something to cut")
    before = _summary(model)
    if module is not None:
        first, last = module_ends(model, module)
        starts, ends = starts or own_sizes(model, first), ends or last
    cut(model, starts or None, ends or None)
    after = _summary(model)
    return model, [] if before == after else [
        f"kept {after[0]} of {before[0]} nodes",
        f"inputs: {', '.join(after[1])}",
        f"outputs: {', '.join(after[2])}",
    ]


def _names(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _summary(model: onnx.ModelProto) -> tuple[int, list[str], list[str]]:
    graph = model.graph
    return len(graph.node), [value.name for value in graph.input], [value.name for value in graph.output]
