"""Rows: what TensorRT builds without a word, and computes wrongly or slowly. Seen on GPUs, by the threads named."""

from backends.preflight import Row, always
from backends.tensorrt.preflight import patterns

BOTH = {"tensorrt": "10 and 11", "tensorrt-rtx": "not tried on 1.7.1"}
ONE_AT_A_TIME = "--dynamic batch=1:1:1, or for sliding windows --slide host --window-batch 1"

KNOWN_WRONG = (
    Row(
        "grid_sample",
        {"tensorrt": "10.13 to 11.1", "tensorrt-rtx": "not tried on 1.7.1"},
        ("GridSample",),
        always,
        "refuse",
        "GridSample gives other numbers without an error (boxes of D-FINE and RT-DETR off by hundreds of pixels)",
        "export for this backend, which writes grid_sample by gathering (rewriter aten::grid_sampler)",
        "NVIDIA/TensorRT#4813, #4646",
    ),
    Row(
        "segformer_batch",
        {"tensorrt": "10.11 and 11.1"},
        ("Softmax",),
        patterns.reduced_attention_of_batches,
        "refuse",
        "attention to keys that a strided convolution reduced, as SegFormer's, is wrong for batches above 1",
        f"give {ONE_AT_A_TIME}",
        "NVIDIA/TensorRT#4853",
    ),
    Row(
        "segformer_batch_rtx",
        {"tensorrt-rtx": "not tried on 1.7.1"},
        ("Softmax",),
        patterns.reduced_attention_of_batches,
        "warn",
        "attention to keys that a strided convolution reduced, as SegFormer's, is wrong in TensorRT above batch 1",
        f"compare a batch of 2 on your GPU, or give {ONE_AT_A_TIME}",
        "NVIDIA/TensorRT#4853",
    ),
    Row(
        "if_transpose_resize",
        {"tensorrt": "11.1 and 11.2", "tensorrt-rtx": "not tried on 1.7.1"},
        ("Resize",),
        patterns.after_transposed_if,
        "refuse",
        "If, Transpose, Resize in a row are wrong where a size varies",
        "transpose before the condition in the model, or fix all sizes",
        "NVIDIA/TensorRT#4846",
    ),
    Row(
        "fused_attention_sm120",
        {"tensorrt": "10.16", "tensorrt-rtx": "not tried on 1.7.1"},
        ("Softmax",),
        patterns.fp16_attention_on_blackwell,
        "warn",
        "fused attention in fp16 is wrong on GPUs of compute capability 12.0; fp32 is right",
        "keep the attention in fp32 there (keep_fp32), or use fp32",
        "NVIDIA/TensorRT#4837",
    ),
    Row(
        "sort",
        BOTH,
        ("TopK",),
        patterns.whole_axis,
        "warn",
        "TensorRT promises no order of equal values, ONNX does: the lower index first",
        "rely on no order of equal values in the model",
        "ONNX's TopK; NVIDIA documents none",
    ),
    Row(
        "nms_boxes",
        {"tensorrt": "10 and 11"},
        ("NonMaxSuppression",),
        patterns.many_boxes,
        "refuse",
        "NonMaxSuppression takes 5000 boxes of an image at most",
        "keep fewer candidates in the model (topk_candidates), or give --output-level decoded",
        "NVIDIA's INMSLayer",
    ),
    Row(
        "nms_slow",
        {"tensorrt": "10"},
        ("NonMaxSuppression",),
        always,
        "warn",
        "NonMaxSuppression took three quarters of the time of a Faster R-CNN",
        "let the model call torchvision's nms where it has a rewriter, or give --output-level decoded",
        "NVIDIA/TensorRT#4248",
    ),
)
