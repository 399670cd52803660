"""YOLOv5's decode as one node of a TensorRT plugin."""

from collections.abc import Sequence

import numpy as np
import onnx
import onnx_graphsurgeon as gs

from rewriters.graph_rewriters.graph_rewriter import Edited, graph_rewriter
from rewriters.graph_rewriters.surgeon import edited
from rewriters.plugins.domain import PLUGIN_DOMAIN, plugin_nodes
from rewriters.yolov5.yolo_layer import ANCHORS_OF_A_LEVEL, BOX_AND_OBJECT
from zoo.errors import ExportError, InputError
from zoo.models.detection.yolov5.family import DECODE_OUTPUTS

NODE = "YoloLayer_TRT"
LEVELS = 3


@graph_rewriter(same_numbers=False)
def yolo_decode_plugin(
    model: onnx.ModelProto,
    *,
    anchors: Sequence[float],
    num_classes: int,
    max_stride: int = 32,
    prenms_score_threshold: float = 0.25,
) -> Edited:
    """Cut off what follows the sigmoid of YOLOv5's head, and put one YoloLayer_TRT node there.

    It finds the head in a graph of any output level. `anchors`: (w, h) in pixels of three anchors for each of p3, p4,
    p5, flat. See yolo_layer for what the node computes and gives.
    """
    if len(anchors) != LEVELS * ANCHORS_OF_A_LEVEL * 2:
        raise InputError(
            f"yolo_decode_plugin: got {len(anchors)} anchor values, expected 18: 3 levels, 3 anchors, (w, h)"
        )
    if any(node.op_type == NODE for node in plugin_nodes(model)):
        return model, ()
    attributes = {
        "max_stride": int(max_stride),
        "num_classes": int(num_classes),
        "anchors": [float(value) for value in anchors],
        "prenms_score_threshold": float(prenms_score_threshold),
    }
    counts: list[int] = []

    def put_node(graph: gs.Graph) -> None:
        counts.append(len(graph.nodes))
        maps = _sigmoid_maps(graph, num_classes)
        batch = maps[0].shape[0]
        slots = _slots(maps)
        shapes = ([batch, 1], [batch, slots, 4], [batch, slots], [batch, slots])
        kinds = (np.int32, np.float32, np.float32, np.int32)
        outputs = [gs.Variable(*spec) for spec in zip(DECODE_OUTPUTS, kinds, shapes, strict=True)]
        graph.nodes.append(gs.Node(NODE, "YoloLayer", attributes, maps, outputs, domain=PLUGIN_DOMAIN))
        graph.outputs = outputs
        graph.cleanup().toposort()
        counts.append(len(graph.nodes) - 1)

    result = edited(onnx.shape_inference.infer_shapes(model, data_prop=True), put_node)
    before, after = counts
    return result, (f"{before - after} nodes behind the head's sigmoid replaced by one {NODE}",)


def _sigmoid_maps(graph: gs.Graph, num_classes: int) -> list[gs.Variable]:
    """The head's three maps, the finest first where the sizes are known."""
    channels = ANCHORS_OF_A_LEVEL * (BOX_AND_OBJECT + num_classes)
    sigmoids = [node for node in graph.nodes if node.op == "Sigmoid" and _ends_a_head(node)]
    shapes = [node.outputs[0].shape for node in sigmoids]
    maps = [
        node.outputs[0]
        for node, shape in zip(sigmoids, shapes, strict=True)
        if shape is not None and len(shape) == 4 and shape[1] == channels  # noqa: PLR2004 - N, C, H, W
    ]
    if len(maps) != LEVELS:
        seen = ", ".join(sorted({str(shape[1]) for shape in shapes if shape})) or "no Sigmoid behind a Conv"
        raise ExportError(
            f"yolo_decode_plugin: {len(maps)} maps of {channels} channels behind a Conv and a Sigmoid, expected "
            f"{LEVELS}; channels there are: {seen}; is num_classes={num_classes} right, and this a YOLOv5?"
        )
    if all(isinstance(size, int) for value in maps for size in value.shape[2:]):
        maps.sort(key=lambda value: -value.shape[2] * value.shape[3])
    return maps


def _ends_a_head(sigmoid: gs.Node) -> bool:
    """Whether it is behind a Conv whose result nobody else reads: x * sigmoid(x) is an activation."""
    producers = sigmoid.inputs[0].inputs
    return bool(producers) and producers[0].op == "Conv" and len(sigmoid.inputs[0].outputs) == 1


def _slots(maps: Sequence[gs.Variable]) -> int | str:
    """How many anchors there are."""
    sizes = [value.shape[2:] for value in maps]
    if all(isinstance(side, int) for size in sizes for side in size):
        return int(sum(ANCHORS_OF_A_LEVEL * height * width for height, width in sizes))
    return "anchors"
