"""Resize by constant scales where the factor is a whole number.

    Resize(x [N, C, h, w], sizes = Concat(N, C, k * h, k * w))  ->  Resize(x, scales = [1, 1, k, k])

Both give the same numbers. With a dynamic batch the sizes are computed in the graph, and ONNX Runtime (1.31) then
leaves its fast layout for the Resize.
"""

import numpy as np
import onnx
from onnx import numpy_helper

from rewriters.onnx_graph.value_types import value_types

SCALES = "zooport_resize_scales"


def constant_scales(model: onnx.ModelProto) -> int:
    """Change every such Resize of the main graph, in place; returns how many were changed."""
    resizes = [node for node in model.graph.node if _by_sizes(node)]
    shapes = _spatial_shapes(model) if resizes else {}
    changed = 0
    for node in resizes:
        before, after = shapes.get(node.input[0]), shapes.get(node.output[0])
        if before is None or after is None or after[0] % before[0] or after[1] % before[1]:
            continue
        scales = np.array([1, 1, after[0] // before[0], after[1] // before[1]], dtype=np.float32)
        name = f"{SCALES}_{changed}"
        model.graph.initializer.append(numpy_helper.from_array(scales, name))
        inputs = [node.input[0], "", name]
        del node.input[:]
        node.input.extend(inputs)
        _drop_attribute(node, "axes")
        changed += 1
    return changed


def _by_sizes(node: onnx.NodeProto) -> bool:
    """Whether it is a plain Resize (inputs x, roi, scales, sizes) by sizes."""
    if node.op_type != "Resize" or len(node.input) < 4 or not node.input[3] or node.input[1]:  # noqa: PLR2004
        return False
    policies = [attribute.s for attribute in node.attribute if attribute.name == "keep_aspect_ratio_policy"]
    return policies in ([], [b"stretch"])


def _spatial_shapes(model: onnx.ModelProto) -> dict[str, tuple[int, int]]:
    """(h, w) of every value with four axes of which the last two are known."""
    shapes = {}
    for name, kind in value_types(model).items():
        dims = kind.tensor_type.shape.dim
        if len(dims) == 4 and dims[2].dim_value and dims[3].dim_value:  # noqa: PLR2004  # N, C, H, W
            shapes[name] = (dims[2].dim_value, dims[3].dim_value)
    return shapes


def _drop_attribute(node: onnx.NodeProto, name: str) -> None:
    """Scales are for all four axes, so a list of axes must go; nothing else of the node changes."""
    kept = [attribute for attribute in node.attribute if attribute.name != name]
    del node.attribute[:]
    node.attribute.extend(kept)
