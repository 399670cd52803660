"""zooport::nms_keep, which boxes survive greedy non-maximum suppression, as a mask of fixed shape."""

import torch

from rewriters.ops.nms_keep import onnx_translation
from rewriters.ops.nms_keep.torch_operator import nms_keep
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

__all__ = ["nms_keep"]
