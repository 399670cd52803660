"""Rows: what ONNX Runtime's CPU provider has no kernel for, measured with 1.31."""

from pipeline.preflight import patterns
from pipeline.preflight.row import Row

ORT = {"onnxruntime": "1.31"}

ONNXRUNTIME_ROWS = (
    Row(
        "custom_operator",
        ORT,
        (),
        patterns.undefined_for_onnxruntime,
        "refuse",
        "neither ONNX nor ONNX Runtime has the operator",
        "give --output-level final or decoded; plugin nodes are for TensorRT",
        "measured",
    ),
    Row(
        "antialias_nearest",
        ORT,
        ("Resize",),
        patterns.nearest_antialias,
        "refuse",
        "Resize to the nearest element has no antialiasing",
        "leave antialias out, or resize linearly",
        "measured",
    ),
    Row(
        "where_bools",
        ORT,
        ("Where",),
        patterns.chooses_bools,
        "refuse",
        "Where has no kernel for bools",
        "write it with logical_and and logical_or",
        "measured",
    ),
    Row(
        "bfloat16",
        ORT,
        ("Add", "Sub", "Mul", "Div", "Conv", "Relu", "Softmax"),
        patterns.of_bfloats,
        "refuse",
        "the CPU provider has no kernels for bfloat16",
        "export the model in float32; give --precision fp16 for half of the memory",
        "measured",
    ),
)
