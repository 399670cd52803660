"""Our own operators as the ONNX operators of their translation.

zooport::X(tensors) {arguments}  ->  the translation in rewriters.ops.x that is for the target's backend
"""

import onnx

from rewriters.ops.operator import DOMAIN, family, translate
from zoo.target import Target


def expand_operators(model: onnx.ModelProto, target: Target) -> None:
    """Replace every node of ours in the main graph, in place. Raises ExportError where a translation cannot be had."""
    nodes = [
        added
        for node in model.graph.node
        for added in (translate(node, family(target)) if node.domain == DOMAIN else [node])
    ]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    kept = [opset for opset in model.opset_import if opset.domain != DOMAIN]
    del model.opset_import[:]
    model.opset_import.extend(kept)
