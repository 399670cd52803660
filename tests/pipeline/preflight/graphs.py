"""For each row of the table a graph that it hits, and one beside it that it does not."""

from dataclasses import dataclass, field
from typing import Any

import onnx
from onnx import parser

from backends.engine_options import EngineOptions
from zoo.target import AxisRange, Target

X = "float[N, 3, 16, 16] x"
SCALES = "<float[4] s = {1, 1, 2, 2}>"
SCALES_3D = "<float[5] s = {1, 1, 2, 2, 2}>"
IF = """agraph (bool c, float[N, 3, 16, 16] x) => (float[N, 3, a, b] y) <float[4] s = {1, 1, 2, 2}> {
    i = If (c) <then_branch = t () => (float[N, 3, 16, 16] u) { u = Relu (x) },
                else_branch = e () => (float[N, 3, 16, 16] v) { v = Neg (x) }>
    %s
}"""


@dataclass(frozen=True)
class Example:
    """Graphs as text. `hit` and `beside` differ in what the row is about. `target`: changes of the target for `hit`."""

    hit: str
    beside: str
    backend: str = "tensorrt-rtx"
    opset: int = 20
    more: str = ""
    target: dict[str, Any] = field(default_factory=dict)
    target_beside: dict[str, Any] | None = None


def graph(inputs: str, body: str, outputs: str, constants: str = "") -> str:
    return f"agraph ({inputs}) => ({outputs}) {constants} {{ {body} }}"


def model(text: str, opset: int = 20, more: str = "") -> onnx.ModelProto:
    """`more`: further opsets. Nodes are named after their operator and first output."""
    result = parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}{more}]> {text}')
    for node in result.graph.node:
        node.name = f"{node.op_type}_{node.output[0]}"
    return result


def target_of(backend: str, **changes: Any) -> Target:
    side, batch = AxisRange.fixed(16), AxisRange(1, 2, 4)
    axes = {"batch": batch, "height": side, "width": side}
    return Target(axes, backend=backend).with_(**changes)


def one(call: str, inputs: str = X, kind: str = "float", axes: str = "N, c, a, b", constants: str = "") -> str:
    """A graph of one call that makes y."""
    return graph(inputs, f"y = {call}", f"{kind}[{axes}] y", constants)


def resized(options: str, **others: Any) -> str:
    return one(f"Resize <{options}> (x, , s)", constants=SCALES, **others)


def topk(size: int, k: int) -> str:
    return graph(
        f"float[N, {size}] x", "y, i = TopK (x, k)", f"float[N, {k}] y, int64[N, {k}] i", f"<int64[1] k = {{{k}}}>"
    )


def nms(boxes: int) -> str:
    constants = "<int64[1] m = {10}, float[1] t = {0.5}>"
    return one(
        "NonMaxSuppression (x, z, m, t, t)",
        f"float[1, {boxes}, 4] x, float[1, 2, {boxes}] z",
        "int64",
        "n, 3",
        constants,
    )


def quantised(point: int) -> str:
    body = "q = QuantizeLinear (x, s, z) y = DequantizeLinear (q, s, z)"
    return graph(X, body, "float[N, 3, 16, 16] y", f"<float s = {{0.1}}, int8 z = {{{point}}}>")


def attention(reduced: bool, batch: str = "N") -> str:
    """Of 64 places with 4 channels; the keys of 16 where they are reduced by a strided convolution."""
    keys = "m = Transpose <perm = [0, 2, 1]> (x) r = Reshape (m, square) "
    keys += "g = Conv <kernel_shape = [2, 2], strides = [2, 2]> (r, w) f = Reshape (g, row) "
    keys += "h = Transpose <perm = [0, 2, 1]> (f) l = LayerNormalization (h, one, zero)"
    keys = keys if reduced else "l = LayerNormalization (x, one, zero)"
    body = f"{keys} k = MatMul (l, p) t = Transpose <perm = [0, 2, 1]> (k) d = MatMul (x, t) e = Div (d, two)"
    weights = "<float[4, 4, 2, 2] w, float[4, 4] p, float[4] one, float[4] zero, float two = {2}"
    shapes = ", int64[4] square = {0, 4, 8, 8}, int64[3] row = {0, 4, -1}>"
    text = graph(
        f"float[{batch}, 64, 4] x",
        f"{body} y = Softmax (e) o = MatMul (y, k)",
        f"float[{batch}, 64, 4] o",
        weights + shapes,
    )
    for name, dims, count in (("w", "4, 4, 2, 2", 64), ("p", "4, 4", 16), ("one", "4", 4), ("zero", "4", 4)):
        text = text.replace(f"float[{dims}] {name}", f"float[{dims}] {name} = {{{', '.join(['1'] * count)}}}")
    return text


def branches(other: str) -> str:
    return f"""agraph (bool c, float[4, 5] x) => (float[] y) {{
        y = If (c) <then_branch = t () => (float[4, 5] u) {{ u = Relu (x) }}, else_branch = e () => (float[a{other}] v)
            {{ z = Constant <value_ints = [{"4, 5" if other else "20"}]> () v = Reshape (x, z) }}>
    }}"""


RTX_DYNAMIC = {"batch": AxisRange(1, 2, 4)}
FIXED = {"batch": AxisRange.fixed(1)}
ROI = "float[5, 4] r, int64[5] b"
DEFORM = ("float[1, 3, 8, 8] x, float[4, 3, 3, 3] w", "float", "1, 4, a, b")
BLACKWELL = {"precision": "fp16", "engine": EngineOptions(compute_capabilities=("8.9", "12.0"))}
ADA = {"precision": "fp16", "engine": EngineOptions(compute_capabilities=("8.9",))}
INTEGER = "int32[N, 3, 16, 16] x"

EXAMPLES: dict[str, Example] = {
    "grid_sample": Example(
        one("GridSample (x, g)", f"{X}, float[N, 8, 8, 2] g"), one("GlobalMaxPool (x)"), backend="tensorrt"
    ),
    "segformer_batch": Example(attention(True), attention(False), backend="tensorrt"),
    "segformer_batch_rtx": Example(attention(True), attention(True, "1"), target=FIXED),
    "if_transpose_resize": Example(
        IF % 't = Transpose <perm = [0, 1, 3, 2]> (i) y = Resize <mode = "cubic"> (t, , s)',
        IF % 'y = Resize <mode = "cubic"> (i, , s)',
        backend="tensorrt",
    ),
    "fused_attention_sm120": Example(attention(False), attention(False), target=BLACKWELL, target_beside=ADA),
    "sort": Example(topk(60, 60), topk(60, 59)),
    "nms_boxes": Example(nms(5001), nms(5000), backend="tensorrt"),
    "nms_slow": Example(nms(5000), topk(60, 3), backend="tensorrt"),
    "nms": Example(nms(100), topk(60, 3)),
    "nonzero": Example(one("NonZero (x)", kind="int64", axes="4, n"), one("Relu (x)")),
    "roi_align": Example(
        one("RoiAlign (x, r, b)", f"{X}, {ROI}"), one("MaxPool <kernel_shape = [2, 2]> (x)"), opset=16
    ),
    "deform_conv": Example(
        one("DeformConv (x, w, o)", DEFORM[0] + ", float[1, 18, 6, 6] o", *DEFORM[1:]), one("Conv (x, w)", *DEFORM)
    ),
    "attention": Example(
        one("Attention (x, x, x)", "float[N, 2, 16, 8] x", axes="N, 2, 16, 8"), one("Softmax (x)"), opset=23
    ),
    "attention_precision": Example(
        one("Attention <softmax_precision = 1> (x, x, x)", "float[N, 2, 16, 8] x", axes="N, 2, 16, 8"),
        one("Softmax (x)", "float[N, 2, 16, 8] x", axes="N, 2, 16, 8"),
        opset=23,
    ),
    "plugin": Example(one("zooport.Thing (x)"), one("Relu (x)"), more=', "zooport" : 1'),
    "large_topk": Example(topk(6000, 3841), topk(6000, 3840)),
    "scatter_reduction": Example(
        *(
            one(
                f'ScatterND <reduction = "{how}"> (x, i, u)', "float[4, 5] x, int64[2, 1] i, float[2, 5] u", axes="4, 5"
            )
            for how in ("add", "none")
        )
    ),
    **{
        name: Example(
            *(
                one(
                    "ScatterND (x, i, u)",
                    "float[4, 5] x, float[2, 5] u",
                    axes="4, 5",
                    constants=f"<int64[2, 1] i = {{1, {second}}}>",
                )
                for second in (1, 2)
            ),
            backend=backend,
        )
        for name, backend in (("doubled_indices", "tensorrt-rtx"), ("scatter_doubled", "onnxruntime"))
    },
    "scatter_threads": Example(
        *(
            one(
                f'{scatter} <reduction = "add"> (x, i, u)',
                f"float[4, 5] x, int64[2, {columns}] i, float[2, 5] u",
                axes="4, 5",
            )
            for scatter, columns in (("ScatterND", 1), ("ScatterElements", 5))
        ),
        backend="onnxruntime",
    ),
    "antialias": Example(*(resized(f'mode = "linear", antialias = {on}') for on in (1, 0))),
    "resize_coordinates": Example(
        *(
            resized(f'mode = "linear", coordinate_transformation_mode = "{name}"')
            for name in ("half_pixel_symmetric", "pytorch_half_pixel")
        )
    ),
    "resize_aspect": Example(
        *(
            one(
                f'Resize <mode = "linear", axes = [2, 3], keep_aspect_ratio_policy = "{policy}"> (x, , , z)',
                "float[1, 3, 16, 16] x",
                constants="<int64[2] z = {32, 40}>",
            )
            for policy in ("not_larger", "stretch")
        )
    ),
    "resize_sizes_of_axes": Example(
        *(
            one('Resize <mode = "linear", axes = [2, 3]> (x, , , z)', inputs, constants="<int64[2] z = {32, 40}>")
            for inputs in (X, "float[1, 3, 16, 16] x")
        )
    ),
    "resize_volume": Example(
        *(
            one(
                f'Resize <mode = "{mode}"> (x, , s)',
                "float[N, 3, 4, 6, 8] x",
                axes="N, c, a, b, d",
                constants=SCALES_3D,
            )
            for mode in ("cubic", "linear")
        )
    ),
    "cubic_volume": Example(
        *(
            one(
                f'Resize <mode = "{mode}"> (x, , s)',
                "float[N, 3, 4, 6, 8] x",
                axes="N, c, a, b, d",
                constants=SCALES_3D,
            )
            for mode in ("cubic", "linear")
        ),
        backend="onnxruntime",
    ),
    "resize_integers": Example(resized('mode = "nearest"', inputs=INTEGER, kind="int32"), resized('mode = "nearest"')),
    "zero_point": Example(quantised(3), quantised(0)),
    "unsigned_weights": Example(
        *(
            graph(
                X,
                "w = DequantizeLinear (q, s) y = Add (x, w)",
                "float[N, 3, 16, 16] y",
                f"<{kind}[1] q = {{1}}, float s = {{0.1}}>",
            )
            for kind in ("uint8", "int8")
        )
    ),
    "inner_uint8": Example(
        graph(X, "b = Cast <to = 2> (x) y = Concat <axis = 1> (b, b)", "uint8[N, 6, 16, 16] y"),
        one("Cast <to = 2> (x)", kind="uint8"),
    ),
    "dtype": Example(one("Cast <to = 5> (x)", kind="int16"), one("Cast <to = 6> (x)", kind="int32")),
    "bool_reduction": Example(*(one("ReduceMax (x)", f"{kind}[N, 4] x", kind, "p, q") for kind in ("bool", "int32"))),
    "argmax_vector": Example(
        one("ArgMax (x)", "float[4] x", "int64", "1"), one("ArgMax (x)", "float[N, 4] x", "int64", "1, 4")
    ),
    "pool_indices": Example(
        graph(X, "y, i = MaxPool <kernel_shape = [2, 2]> (x)", "float[N, 3, 15, 15] y, int64[N, 3, 15, 15] i"),
        one("MaxPool <kernel_shape = [2, 2]> (x)"),
    ),
    "dilated_pool": Example(
        *(one(f"MaxPool <kernel_shape = [2, 2], dilations = [{step}, {step}]> (x)") for step in (2, 1))
    ),
    "if_ranks": Example(branches(""), branches(", b")),
    "axes": Example(*(one("Relu (x)", f"float[N{', 1' * more}] x", axes=f"N{', 1' * more}") for more in (8, 7))),
    "unknown_operator": Example(one("Det (x)", axes="N, 3"), one("Relu (x)")),
    "custom_operator": Example(
        one("zooport.Thing (x)"),
        one("com.microsoft.Gelu (x)"),
        "onnxruntime",
        more=', "zooport" : 1, "com.microsoft" : 1',
    ),
    "antialias_nearest": Example(
        *(resized(f'mode = "{mode}", antialias = 1') for mode in ("nearest", "linear")), backend="onnxruntime"
    ),
    "where_bools": Example(
        *(one("Where (c, x, x)", f"bool[N] c, {kind}[N] x", kind, "N") for kind in ("bool", "float")),
        backend="onnxruntime",
    ),
    "bfloat16": Example(
        *(one("Add (x, x)", f"{kind}[N] x", kind, "N") for kind in ("bfloat16", "float16")), backend="onnxruntime"
    ),
}
