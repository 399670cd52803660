"""Rows: what ONNX Runtime has no kernel for, or computes wrongly.

What a GPU's provider leaves to the CPU is named where a session is opened (see placement).
"""

from backends.preflight import Row, Site, cubic_volume, doubled_indices, loses_updates, undefined

ORT = {"onnxruntime": "1.31"}


def no_operator_of_its_own(site: Site) -> bool:
    """As undefined, but for ONNX Runtime's own operators; level plugin is run by references."""
    is_own = site.node.domain in ("ai.onnx.ml", "com.microsoft")
    return undefined(site) and not is_own and site.target.level != "plugin"


def nearest_antialias(site: Site) -> bool:
    """Antialiasing of a resize that takes one element."""
    return (site.attribute("antialias"), site.attribute("mode", "nearest")) == (1, "nearest")


def chooses_bools(site: Site) -> bool:
    """A Where between bools."""
    return site.kind(site.input(1)) == "bool"


def of_bfloats(site: Site) -> bool:
    """Computes in bfloat16."""
    return site.node.op_type != "Cast" and "bfloat16" in map(site.kind, site.node.input)


ROWS = (
    Row(
        "custom_operator",
        ORT,
        (),
        no_operator_of_its_own,
        "refuse",
        "neither ONNX nor ONNX Runtime has the operator",
        "give --output-level final or decoded; plugin nodes are for TensorRT",
        "measured",
    ),
    Row(
        "antialias_nearest",
        ORT,
        ("Resize",),
        nearest_antialias,
        "refuse",
        "Resize to the nearest element has no antialiasing",
        "leave antialias out, or resize linearly",
        "measured",
    ),
    Row(
        "where_bools",
        ORT,
        ("Where",),
        chooses_bools,
        "refuse",
        "Where has no kernel for bools",
        "write it with logical_and and logical_or",
        "measured",
    ),
    Row(
        "bfloat16",
        ORT,
        ("Add", "Sub", "Mul", "Div", "Conv", "Relu", "Softmax"),
        of_bfloats,
        "refuse",
        "the CPU provider has no kernels for bfloat16",
        "export the model in float32; give --precision fp16 for half of the memory",
        "measured",
    ),
    Row(
        "cubic_volume",
        ORT,
        ("Resize",),
        cubic_volume,
        "refuse",
        "cubic Resize takes two axes",
        "resize linearly, or two axes at a time",
        "measured",
    ),
    Row(
        "scatter_threads",
        {"onnxruntime": "1.32"},
        ("ScatterND",),
        loses_updates,
        "warn",
        "the threads of ScatterND write to one place at the same time, so that a sum or a maximum loses some of its "
        "updates; ScatterElements does not",
        "write it with scatter_add or scatter_reduce, which become ScatterElements; or run on one thread (threads=1)",
        "microsoft/onnxruntime#18048; benchmarks/scatter_threads.py",
    ),
    Row(
        "scatter_doubled",
        {"onnxruntime": "1.32"},
        ("ScatterND",),
        doubled_indices,
        "warn",
        "ScatterND without a reduction writes to one place more than once, and ONNX does not say which value stays",
        "leave out all but one of the indices that are equal, or scatter with a reduction",
        "ONNX's ScatterND",
    ),
)
