"""Makes the operator's translations known to every export."""

import torch

import rewriters.ops.nms_keep.torch_operator  # noqa: F401  # registers the operator with torch
from rewriters.ops.nms_keep import onnx_translation
from rewriters.ops.operator import Operator, register

register(
    Operator(
        "zooport::nms_keep",
        torch.ops.zooport.nms_keep.default,
        onnx_translation.torchscript,
        onnx_translation.dynamo,
        min_opset=16,
    )
)
