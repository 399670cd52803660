"""Rows: operators that TensorRT has and tensorrt-rtx has not."""

from backends.preflight import Row, always, undefined

RTX = {"tensorrt-rtx": "1.7.1"}

REFUSED_BY_RTX = (
    Row(
        "nms",
        RTX,
        ("NonMaxSuppression",),
        always,
        "refuse",
        "tensorrt-rtx parses NonMaxSuppression and has no kernel for it",
        "the zoo's detectors are exported without it; of another model give --output-level decoded",
        "NVIDIA/TensorRT-RTX#5; measured",
    ),
    Row(
        "nonzero",
        RTX,
        ("NonZero",),
        always,
        "refuse",
        "tensorrt-rtx has no NonZero, which a boolean index or torch.nonzero becomes",
        "write the choice with where or topk of a fixed number",
        "NVIDIA/TensorRT-RTX#36; measured",
    ),
    Row(
        "roi_align",
        RTX,
        ("RoiAlign",),
        always,
        "warn",
        "tensorrt-rtx has RoiAlign as a plugin that is found only on a machine with a GPU",
        "torchvision's R-CNNs are exported without it; build on a machine with a GPU",
        "NVIDIA's release notes of TensorRT-RTX 1.5; measured",
    ),
    Row(
        "deform_conv",
        RTX,
        ("DeformConv",),
        always,
        "refuse",
        "tensorrt-rtx has no DeformConv",
        "export for this backend, which writes deform_conv2d by gathering (rewriter torchvision::deform_conv2d)",
        "measured",
    ),
    Row(
        "attention",
        RTX,
        ("Attention",),
        always,
        "refuse",
        "the parser of tensorrt-rtx crashes on Attention, which torch's dynamo exporter writes from opset 23 on",
        "give --opset 20",
        "measured",
    ),
    Row(
        "plugin",
        RTX,
        (),
        undefined,
        "refuse",
        "tensorrt-rtx comes without plugins",
        "give --output-level final or decoded, or --backend tensorrt",
        "measured",
    ),
)
