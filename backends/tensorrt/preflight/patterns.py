"""Conditions on a node and its neighbours, for the rows of the table."""

from collections.abc import Callable

import numpy as np

from backends.preflight import Site
from backends.tensorrt.option_check import engine_options

MAX_K = 3840
MAX_RANK = 8
MAX_NMS_BOXES = 5000
PASSED = ("Transpose", "Reshape", "Unsqueeze", "Squeeze", "Mul", "Div", "Gather", "Slice", "Split", "Identity")
"""What stands between the products of an attention and its linear layers."""
INTEGERS = ("uint8", "int32", "int64")
UNKNOWN_KINDS = ("int16", "uint16", "uint32", "uint64")
FOR_ANY_STEPS = 32


def has_attribute(name: str) -> Callable[[Site], bool]:
    """An attribute that is written, whatever its value."""
    return lambda site: site.attribute(name) is not None


def large_k(site: Site) -> bool:
    """A TopK of more than MAX_K: by its constant, or by the size that ONNX infers for its result."""
    k = site.constant(1)
    if k is not None:
        return bool(k.max() > MAX_K)
    shape = site.shape(site.node.output[0] or site.node.output[1])
    size = shape[site.attribute("axis", -1)] if shape else None
    return size is not None and size > MAX_K


def whole_axis(site: Site) -> bool:
    """A TopK of all elements: a sort."""
    shape, k = site.shape(site.input(0)), site.constant(1)
    size = shape[site.attribute("axis", -1)] if shape else None
    return size is not None and k is not None and int(k.max()) == size > 1


def many_boxes(site: Site) -> bool:
    """An NMS of more boxes than TensorRT takes."""
    shape = site.shape(site.input(0))
    return bool(shape and shape[1] is not None and shape[1] > MAX_NMS_BOXES)


def shifted(site: Site) -> bool:
    """A zero point that is not zero."""
    point = site.constant(2)
    return point is not None and bool(np.any(point))


def unsigned(site: Site) -> bool:
    """Dequantises unsigned bytes that were not quantised in the graph, as stored weights are."""
    return site.kind(site.input(0)) == "uint8" and site.constant(0) is not None


def inner_bytes(site: Site) -> bool:
    """Makes unsigned bytes that another node reads; as outputs of the graph they are taken."""
    makes = any(site.kind(name) == "uint8" for name in site.node.output)
    return makes and site.node.op_type != "QuantizeLinear" and bool(site.readers())


def unknown_kind(site: Site) -> bool:
    """Reads or makes a dtype that TensorRT has not."""
    return any(site.kind(name) in UNKNOWN_KINDS for name in (*site.node.input, *site.node.output))


def of_whole_numbers(site: Site) -> bool:
    """Its first input holds integers."""
    return site.kind(site.input(0)) in INTEGERS


def of_bools(site: Site) -> bool:
    """Its first input holds bools."""
    return site.kind(site.input(0)) == "bool"


def of_one_axis(site: Site) -> bool:
    """Its input is a vector."""
    shape = site.shape(site.input(0))
    return shape is not None and len(shape) == 1


def many_axes(site: Site) -> bool:
    """A value of more axes than TensorRT has."""
    shapes = [site.shape(name) for name in (*site.node.input, *site.node.output)]
    return any(shape is not None and len(shape) > MAX_RANK for shape in shapes)


def sizes_of_some_axes(site: Site) -> bool:
    """A Resize whose sizes are of named axes, of an input that varies."""
    shape = site.shape(site.input(0))
    return bool(site.attribute("axes") and site.input(3)) and (shape is None or None in shape)


def with_indices(site: Site) -> bool:
    """A pooling that gives the places of the maxima."""
    return len(site.node.output) > 1 and bool(site.node.output[1])


def dilated(site: Site) -> bool:
    """A pooling with gaps."""
    return any(step != 1 for step in site.attribute("dilations", ()))


def unequal_branches(site: Site) -> bool:
    """An If that is decided at run time, whose branches give different numbers of axes."""
    if site.constant(0) is not None:
        return False
    graphs = [site.attribute(name) for name in ("then_branch", "else_branch")]
    for pair in zip(*(graph.output for graph in graphs), strict=False):
        kinds = [value.type.tensor_type for value in pair]
        if all(kind.HasField("shape") for kind in kinds) and len({len(kind.shape.dim) for kind in kinds}) > 1:
            return True
    return False


def after_transposed_if(site: Site) -> bool:
    """If -> Transpose -> Resize, with a size that varies."""
    transpose = site.maker(0)
    choice = transpose.maker(0) if transpose is not None and transpose.node.op_type == "Transpose" else None
    return choice is not None and choice.node.op_type == "If" and bool(site.target.dynamic_axes)


def attention(site: Site) -> bool:
    """A Softmax between two products."""
    scores = _source(site.maker(0))
    follows = any(reader.node.op_type in ("MatMul", "Einsum") for reader in site.readers())
    return follows and scores is not None and scores.node.op_type in ("MatMul", "Einsum")


def fp16_attention_on_blackwell(site: Site) -> bool:
    """An attention in fp16, for compute capability 12.0."""
    capabilities = engine_options(site.target).compute_capabilities
    return site.target.precision == "fp16" and (not capabilities or "12.0" in capabilities) and attention(site)


def reduced_attention_of_batches(site: Site) -> bool:
    """SegFormer's attention, with a batch that is not known to be one: the keys come from a strided Conv and one
    LayerNorm. That batch is the Conv's, and not the target's: windows in the graph are a batch, too.
    """
    if not attention(site):
        return False
    scores = _source(site.maker(0))
    place, norms = scores.maker(1) if scores is not None else None, 0
    for _ in range(FOR_ANY_STEPS):
        if place is None:
            return False
        kind = place.node.op_type
        if kind == "Conv":
            strides = place.attribute("strides", [1])
            reducing = norms == 1 and max(strides) > 1 and strides == place.attribute("kernel_shape")
            shape = place.shape(place.node.output[0])
            return reducing and not (shape and shape[0] == 1)
        norms += kind == "LayerNormalization"
        place = _before(place)
    return False


def _source(site: Site | None) -> Site | None:
    """The product behind what scales or masks it."""
    for _ in range(FOR_ANY_STEPS):
        if site is None or site.node.op_type not in ("Mul", "Div", "Add", "Where", "Cast", "Reshape"):
            return site
        makers = [site.maker(index) for index in range(len(site.node.input))]
        site = next((maker for maker in makers if maker is not None and maker.node.op_type != "Constant"), None)
    return None


def _before(site: Site) -> Site | None:
    """One step back from a linear layer's side of an attention; None at a residual sum, or anything else."""
    if site.node.op_type in ("LayerNormalization", *PASSED):
        return site.maker(0)
    if site.node.op_type in ("MatMul", "Add", "Gemm"):  # with weights or a bias
        open_inputs = [index for index in range(len(site.node.input)) if not site.fixed(index)]
        return site.maker(open_inputs[0]) if len(open_inputs) == 1 else None
    return None
