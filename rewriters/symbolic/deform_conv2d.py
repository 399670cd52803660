"""torchvision's deformable convolution as the standard DeformConv, which dynamo writes unaided."""

from rewriters.ops.graph_builder import GraphBuilder
from rewriters.symbolic.declaration import symbolic

OPSETS_WITH_DEFORM_CONV = (19, 26)


@symbolic(
    "torchvision::deform_conv2d",
    reason="torchscript does not know torchvision's operator; ONNX has a standard one since opset 19",
    written_for="torch 2.15, torchvision 0.29",
    exporter="torchscript",
    opset=OPSETS_WITH_DEFORM_CONV,
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
