"""torchvision's deformable convolution as the standard DeformConv, which dynamo writes unaided; by gathering for RTX.

    y[n, f, i, j] = bias[f] + sum over the taps k, channels c of  weight[f, c, k] * mask[n, k, i, j] * x[n, c, place]

at the place (i, j) * stride - padding + k * dilation + offset[n, k, :, i, j], between four elements, 0 outside.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from rewriters.ops.graph_builder import GraphBuilder
from rewriters.symbolic.declaration import symbolic
from rewriters.symbolic.gathering import between, gathered, near
from zoo.errors import ExportError

OPSETS_WITH_DEFORM_CONV = (19, 26)
OPSETS_WITHOUT = (17, 18)


class Geometry(NamedTuple):
    """The constants of a call, by their names in torchvision's schema; heights before widths."""

    stride_h: int
    stride_w: int
    pad_h: int
    pad_w: int
    dilation_h: int
    dilation_w: int
    groups: int
    offset_groups: int
    use_mask: bool

    @property
    def strides(self) -> tuple[int, int]:
        """Of the result's elements, in those of the input."""
        return self.stride_h, self.stride_w

    @property
    def pads(self) -> tuple[int, int]:
        """On either side of an axis."""
        return self.pad_h, self.pad_w

    @property
    def dilations(self) -> tuple[int, int]:
        """Between two taps."""
        return self.dilation_h, self.dilation_w


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
def deform_conv2d(b: GraphBuilder, x: str, weight: str, offset: str, mask: str, bias: str, **values: Any) -> str:
    """x [N, C, H, W] -> [N, F, h, w]; without a mask torchvision gives an empty one, which is left out."""
    geometry = Geometry(**values)
    result: str = b.DeformConv(
        x,
        weight,
        offset,
        bias,
        *([mask] if geometry.use_mask else []),
        strides=list(geometry.strides),
        pads=[*geometry.pads, *geometry.pads],
        dilations=list(geometry.dilations),
        group=geometry.groups,
        offset_group=geometry.offset_groups,
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


def deform_conv2d_gathered(
    b: GraphBuilder, x: str, weight: str, offset: str, mask: str, bias: str, **values: Any
) -> str:
    """x [N, C, H, W] -> [N, F, h, w], as deform_conv2d; P = taps * h * w places, each of four elements."""
    geometry = Geometry(**values)
    offset_groups = geometry.offset_groups
    batch, kernel, out = b.Shape(x, start=0, end=1), b.Shape(weight, start=2), b.Shape(offset, start=2)
    rows = b.Concat(b.Mul(batch, b.constant([offset_groups])), b.constant([-1]), axis=0)  # (N * offset groups, -1)
    by_tap = b.Concat(batch, b.constant([offset_groups]), kernel, b.constant([2]), out, axis=0)
    offsets = b.Reshape(offset, by_tap)  # [N, offset groups, kh, kw, 2, h, w]
    sizes, corners = [], []
    for axis, (stride, pad, dilation) in enumerate(
        zip(geometry.strides, geometry.pads, geometry.dilations, strict=True)
    ):
        size = b.Shape(x, start=2 + axis, end=3 + axis)
        moved = b.Gather(offsets, b.constant(axis), axis=4)
        taps = _steps(b, kernel, axis, dilation, 0, [1, 2] if axis else [1, 2, 3], moved)
        starts = _steps(b, out, axis, stride, -pad, [] if axis else [1], moved)
        place = b.Add(b.Add(moved, taps), starts)  # [N, offset groups, kh, kw, h, w]
        last = b.CastLike(b.Sub(size, b.constant([1])), place)
        sizes.append(size)
        corners.append(between(b, near(b, place, last)))
    per_place = b.Concat(rows, b.constant([1]), axis=0)
    channels = b.Concat(rows, b.Mul(*sizes), axis=0)
    flat = b.Transpose(b.Reshape(x, channels), perm=[0, 2, 1])  # [N * offset groups, H * W, C / offset groups]
    columns = b.Sum(*(gathered(b, flat, corner, sizes, per_place) for corner in product(*corners)))  # [.., P, ..]
    if geometry.use_mask:
        columns = b.Mul(columns, b.Reshape(mask, per_place))
    places = b.ReduceProd(out, keepdims=1)
    inputs = b.Concat(batch, b.constant([geometry.groups, -1]), places, axis=0)
    columns = b.Reshape(b.Transpose(columns, perm=[0, 2, 1]), inputs)  # [N, groups, C / groups * taps, h * w]
    filters = b.Div(b.Shape(weight, start=0, end=1), b.constant([geometry.groups]))
    weights = b.Reshape(weight, b.Concat(b.constant([geometry.groups]), filters, b.constant([-1]), axis=0))
    shape = b.Concat(batch, b.constant([-1]), out, axis=0)
    terms = b.Reshape(bias, b.constant([-1, 1, 1]))
    result: str = b.Add(b.Reshape(b.MatMul(weights, columns), shape), terms)
    return result


def _steps(b: GraphBuilder, sizes: str, axis: int, step: int, first: int, behind: Sequence[int], like_: str) -> str:
    """first, first + step ... along one axis of two sizes; `behind`: where axes of one follow."""
    count = b.Gather(sizes, b.constant(axis))
    numbers = b.Range(b.constant(0), count, b.constant(1))
    places = b.CastLike(b.Add(b.Mul(numbers, b.constant(step)), b.constant(first)), like_)
    result: str = b.Unsqueeze(places, b.constant(list(behind))) if behind else places
    return result


for _exporter, _opsets in (
    ("torchscript", OPSETS_WITH_DEFORM_CONV),
    ("dynamo", OPSETS_WITH_DEFORM_CONV),
    (None, OPSETS_WITHOUT),
):
    symbolic(
        "torchvision::deform_conv2d",
        reason="the backend has no DeformConv",
        written_for="torch 2.15, torchvision 0.29",
        lacks="DeformConv",
        exporter=_exporter,
        opset=_opsets,
        result_type=_result_type,
    )(deform_conv2d_gathered)
