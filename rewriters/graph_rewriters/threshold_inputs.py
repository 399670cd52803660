"""A detector's thresholds as inputs of its graph, with the model's own as defaults."""

from collections.abc import Iterator

import numpy as np
import onnx
from onnx import numpy_helper

from rewriters.graph_rewriters.graph_rewriter import Edited, graph_rewriter
from rewriters.ops.nms_keep import float32_threshold
from zoo.errors import ExportError
from zoo.input_specs import IOU_THRESHOLD, SCORE_THRESHOLD

IOU_SLOT = 3  # of NonMaxSuppression's inputs


@graph_rewriter()
def threshold_inputs(model: onnx.ModelProto, *, score_threshold: float, iou_threshold: float) -> Edited:
    """Let who runs a detector's graph set its thresholds: two more inputs, float32 [1], that may be left out.

    `score_threshold`, `iou_threshold`: the graph's own, by which their places are found: the one comparison of scores
    with the first, and the one NonMaxSuppression with the second. They stay the inputs' defaults (an initializer of the
    same name), which ONNX Runtime takes where an input is not given.
    """
    graph = model.graph
    if {SCORE_THRESHOLD.name, IOU_THRESHOLD.name} <= {value.name for value in graph.input}:
        return model, ()
    constants = dict(_scalars(graph))
    score = np.float32(score_threshold)
    compared = [(node, 1) for node in graph.node if node.op_type == "Greater" and constants.get(node.input[1]) == score]
    iou = float32_threshold(iou_threshold)
    suppressed = [
        (node, IOU_SLOT)
        for node in graph.node
        if node.op_type == "NonMaxSuppression"
        and len(node.input) > IOU_SLOT
        and constants.get(node.input[IOU_SLOT]) == iou
    ]
    changes = []
    for spec, value, places in ((SCORE_THRESHOLD, score, compared), (IOU_THRESHOLD, iou, suppressed)):
        if len(places) != 1:
            raise ExportError(
                f"threshold_inputs: {len(places)} nodes compare with the {spec.name} {value:g}, expected 1; give the "
                "graph's own thresholds, and a detector's graph of level final"
            )
        node, slot = places[0]
        node.input[slot] = spec.name
        graph.initializer.append(numpy_helper.from_array(np.array([value], np.float32), spec.name))
        graph.input.append(onnx.helper.make_tensor_value_info(spec.name, onnx.TensorProto.FLOAT, [1]))
        changes.append(f"{spec.name} is an input of the graph, {value:g} by default")
    return model, changes


def _scalars(graph: onnx.GraphProto) -> Iterator[tuple[str, float]]:
    """Constants of one element, by name."""
    tensors = [(tensor.name, tensor) for tensor in graph.initializer]
    for node in graph.node:
        if node.op_type == "Constant":
            tensors += [(node.output[0], attribute.t) for attribute in node.attribute if attribute.name == "value"]
    for name, tensor in tensors:
        if int(np.prod(tensor.dims)) == 1:
            yield name, numpy_helper.to_array(tensor).item()
