"""Thresholds and NMS behind a graph of level decoded, as TensorRT's plugin or as ONNX NonMaxSuppression."""

from collections.abc import Mapping

import numpy as np
import onnx

from rewriters.graph_rewriters.graph_rewriter import Edited, graph_rewriter
from rewriters.onnx_graph.opset import add_domain, opset_of
from rewriters.onnx_graph.scopes import rename_reads
from rewriters.ops.graph_builder import FLOAT, INT64, GraphBuilder
from rewriters.ops.nms_keep import float32_threshold
from rewriters.plugins.domain import PLUGIN_DOMAIN
from zoo.errors import ExportError, InputError

NODE = "EfficientNMS_TRT"
FORMS = ("plugin", "onnx")
FINAL = ("num_dets", "boxes", "scores", "labels")
PREFIX = "efficient_nms"
LEAST_OPSET = 17  # of our exports
AXES_ARE_INPUTS = 18  # of ReduceMax, from this opset on


@graph_rewriter(same_numbers=False)
def efficient_nms_plugin(
    model: onnx.ModelProto,
    *,
    score_threshold: float,
    iou_threshold: float,
    max_output_boxes: int = 100,
    class_agnostic: bool = False,
    best_class_only: bool = False,
    form: str = "plugin",
) -> Edited:
    """Put thresholds and NMS behind the outputs boxes [N, M, 4] and scores [N, M, C]: level decoded becomes final.

    `form`: "plugin" for an EfficientNMS_TRT node, "onnx" for NonMaxSuppression, which TensorRT 11 and ONNX Runtime run.
    `best_class_only`: an anchor is a candidate for its best class alone. The outputs are those of the
    detection contract: num_dets, boxes, scores, labels, padded to `max_output_boxes`.
    """
    if form not in FORMS:
        raise InputError(f'efficient_nms_plugin: form "{form}"; expected {" or ".join(FORMS)}')
    outputs = {value.name: value for value in model.graph.output}
    if tuple(outputs) == FINAL:
        return model, ()
    classes = _check_decoded(outputs)
    if max_output_boxes < 1:
        raise InputError(f"efficient_nms_plugin: max_output_boxes is {max_output_boxes}, expected 1 or more")
    opset = opset_of(model)
    if opset < LEAST_OPSET:
        raise ExportError(f"efficient_nms_plugin: the graph has opset {opset}, expected {LEAST_OPSET} or above")
    b = GraphBuilder(PREFIX)
    names = {tensor.name for tensor in model.graph.initializer}
    names.update(name for node in model.graph.node for name in node.output)
    raw = {name: f"{PREFIX}/decoded_{name}" for name in FINAL if name in names}  # free the names of the contract
    _rename(model.graph, raw)
    scores = raw["scores"]
    if best_class_only:
        best = _best_of_classes(b, scores, opset)
        first = b.Equal(
            b.Unsqueeze(b.ArgMax(scores, axis=2, keepdims=0), b.constant([2])), b.constant(np.arange(classes))
        )
        scores = b.Where(first, best, b.constant(-1.0, np.float32))
    thresholds = (score_threshold, iou_threshold)
    if form == "plugin":
        padded = _plugin(b, raw["boxes"], scores, thresholds, max_output_boxes, class_agnostic=class_agnostic)
        add_domain(model, PLUGIN_DOMAIN)
    else:
        best = _best_of_classes(b, scores, opset) if class_agnostic else ""
        padded = _standard(b, raw["boxes"], scores, thresholds, max_output_boxes, best)
    batch = outputs["boxes"].type.tensor_type.shape.dim[0]
    _set_outputs(model.graph, b, padded, batch, max_output_boxes)
    model.graph.node.extend(b.nodes)
    what = NODE if form == "plugin" else "NonMaxSuppression"
    return model, (f"{what} and {len(b.nodes) - 1} nodes for the contract put behind boxes and scores",)


def _check_decoded(outputs: Mapping[str, onnx.ValueInfoProto]) -> int:
    """The number of classes. Raises ExportError where the graph is not of level decoded."""
    shapes = {
        name: [dim.dim_value or dim.dim_param for dim in value.type.tensor_type.shape.dim]
        for name, value in outputs.items()
    }
    boxes, scores = shapes.get("boxes", []), shapes.get("scores", [])
    if set(shapes) != {"boxes", "scores"} or boxes[2:] != [4] or len(scores) != 3 or type(scores[2]) is not int:  # noqa: PLR2004 - N, M, C
        graph_shapes = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ExportError(
            "efficient_nms_plugin: expected the outputs boxes [N, M, 4] and scores [N, M, C] of level decoded, "
            f"C fixed; the graph has {graph_shapes}"
        )
    classes: int = scores[2]
    return classes


def _rename(graph: onnx.GraphProto, names: Mapping[str, str]) -> None:
    """Give values of the graph other names, wherever they are made or read, in subgraphs as well."""
    for node in graph.node:
        rename_reads(node, names)
        node.output[:] = [names.get(name, name) for name in node.output]
    for item in (*graph.value_info, *graph.initializer):
        item.name = names.get(item.name, item.name)


def _best_of_classes(b: GraphBuilder, scores: str, opset: int) -> str:
    """[N, M, C] -> [N, M, 1]. The axes were an attribute before opset 18."""
    if opset < AXES_ARE_INPUTS:
        best: str = b.ReduceMax(scores, axes=[2], keepdims=1)
    else:
        best = b.ReduceMax(scores, b.constant([2]), keepdims=1)
    return best


def _plugin(
    b: GraphBuilder,
    boxes: str,
    scores: str,
    thresholds: tuple[float, float],
    slots: int,
    *,
    class_agnostic: bool,
) -> tuple[str, str, str, str]:
    num, boxes_kept, found_scores, classes = b.node(
        NODE,
        boxes,
        scores,
        outputs=4,
        domain=PLUGIN_DOMAIN,
        plugin_version="1",
        background_class=-1,
        score_activation=0,
        box_coding=0,
        class_agnostic=int(class_agnostic),
        score_threshold=float(thresholds[0]),
        iou_threshold=float(thresholds[1]),
        max_output_boxes=slots,
    )
    num = b.Cast(num, to=INT64)  # [N, 1]
    used = b.Less(b.constant(np.arange(slots)), num)
    nothing = b.constant(0.0, np.float32)
    return (
        b.Squeeze(num, b.constant([1])),
        b.Where(b.Unsqueeze(used, b.constant([2])), boxes_kept, nothing),
        b.Where(used, found_scores, nothing),
        b.Where(used, b.Cast(classes, to=INT64), b.constant(-1)),
    )


def _standard(
    b: GraphBuilder,
    boxes: str,
    scores: str,
    thresholds: tuple[float, float],
    slots: int,
    best_of_classes: str,
) -> tuple[str, str, str, str]:
    """The rows that NonMaxSuppression selects become a mask over all pairs of class and box; the best are gathered.

    `best_of_classes` [N, M, 1]: where the classes meet in NMS.
    """
    middle = b.constant([1])
    labels = b.ArgMax(scores, axis=2, keepdims=0) if best_of_classes else ""
    by_class = b.Transpose(best_of_classes or scores, perm=[0, 2, 1])
    selected = b.NonMaxSuppression(
        boxes,
        by_class,
        b.constant([int(np.iinfo(np.int64).max)]),
        b.constant([float32_threshold(thresholds[1])], np.float32),
        b.constant([np.float32(thresholds[0])], np.float32),
    )
    kept = b.ScatterND(
        b.ConstantOfShape(b.Shape(by_class), value=onnx.numpy_helper.from_array(np.array([False]))),
        selected,
        b.ConstantOfShape(b.Shape(selected, end=1), value=onnx.numpy_helper.from_array(np.array([True]))),
    )
    pairs = b.Reshape(b.Where(kept, by_class, b.constant(-1.0, np.float32)), b.constant([0, -1]))
    width = b.constant([slots])
    padding = b.Concat(b.constant([0, 0, 0]), width, axis=0)
    best, pair = b.TopK(b.Pad(pairs, padding, b.constant(-1.0, np.float32)), width, outputs=2, axis=1)
    used = b.GreaterOrEqual(best, b.constant(0.0, np.float32))
    count = b.size(boxes, 1)
    used_pair = b.Where(used, pair, b.constant(0))
    row = b.Mod(used_pair, count)
    index = b.Unsqueeze(row, b.constant([2]))
    nothing = b.constant(0.0, np.float32)
    label = b.GatherElements(labels, row, axis=1) if labels else b.Div(used_pair, count)
    ones = b.Cast(used, to=INT64)
    return (
        b.ReduceSum(ones, middle, keepdims=0),
        b.Where(
            b.Unsqueeze(used, b.constant([2])),
            b.GatherElements(boxes, b.Expand(index, b.constant([1, 1, 4])), axis=1),
            nothing,
        ),
        b.Where(used, best, nothing),
        b.Where(used, label, b.constant(-1)),
    )


def _set_outputs(
    graph: onnx.GraphProto,
    b: GraphBuilder,
    padded: tuple[str, str, str, str],
    batch: onnx.TensorShapeProto.Dimension,
    slots: int,
) -> None:
    """The contract's outputs, by their names, in its order."""
    rows = batch.dim_param or (batch.dim_value if batch.HasField("dim_value") else None)
    shapes = ([rows], [rows, slots, 4], [rows, slots], [rows, slots])
    kinds = (INT64, FLOAT, FLOAT, INT64)
    names = dict(zip(padded, FINAL, strict=True))
    for node in b.nodes:
        node.output[:] = [names.get(name, name) for name in node.output]
    del graph.output[:]
    graph.output.extend(onnx.helper.make_tensor_value_info(*spec) for spec in zip(FINAL, kinds, shapes, strict=True))
