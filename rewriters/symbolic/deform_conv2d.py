"""torchvision's deformable convolution as the standard DeformConv, which dynamo writes unaided."""

from collections.abc import Mapping, Sequence
from typing import Any

from rewriters.ops.graph_builder import GraphBuilder
from rewriters.symbolic.declaration import symbolic
from zoo.errors import ExportError

OPSETS_WITH_DEFORM_CONV = (19, 26)
OPSETS_WITHOUT = (17, 18)


def _result_type(tensors: Sequence[Any], _values: Mapping[str, Any]) -> Any:
    """[N, F, h, w]: the sizes that are fixed, from those of the input, the weight and the offsets."""
    x, weight, offset = ((tensor.type().varyingSizes() or [None] * 4) for tensor in tensors[:3])
    return tensors[0].type().with_sizes([x[0], weight[0], *offset[2:]])


@symbolic(
    "torchvision::deform_conv2d",
    reason="torchscript does not know torchvision's operator; ONNX has a standard one since opset 19",
    written_for="torch 2.15, torchvision 0.29",
    exporter="torchscript",
    opset=OPSETS_WITH_DEFORM_CONV,
    result_type=_result_type,
)
def deform_conv2d(
    b: GraphBuilder,
    x: str,
    weight: str,
    offset: str,
    mask: str,
    bias: str,
    *,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> str:
    """x [N, C, H, W] -> [N, F, h, w]; without a mask torchvision gives an empty one, which is left out."""
    result: str = b.DeformConv(
        x,
        weight,
        offset,
        bias,
        *([mask] if use_mask else []),
        strides=[stride_h, stride_w],
        pads=[pad_h, pad_w, pad_h, pad_w],
        dilations=[dilation_h, dilation_w],
        group=groups,
        offset_group=offset_groups,
    )
    return result


@symbolic(
    "torchvision::deform_conv2d",
    reason="ONNX has no deformable convolution below opset 19, and the exporters do not say so",
    written_for="torch 2.15, torchvision 0.29",
    opset=OPSETS_WITHOUT,
    result_type=_result_type,
)
def deform_conv2d_refused(
    b: GraphBuilder, x: str, weight: str, offset: str, mask: str, bias: str, **_values: Any
) -> str:
    """Raises ExportError."""
    raise ExportError("ONNX has DeformConv since opset 19; give --opset 20")
