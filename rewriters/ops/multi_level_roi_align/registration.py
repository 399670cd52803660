"""Makes the operator's translations known to every export."""

import torch

import rewriters.ops.multi_level_roi_align.torch_operator  # noqa: F401  # registers the operator with torch
from rewriters.ops.multi_level_roi_align import onnx_translation
from rewriters.ops.operator import Operator, register

register(
    Operator(
        "zooport::multi_level_roi_align",
        torch.ops.zooport.multi_level_roi_align.default,
        onnx_translation.torchscript,
        onnx_translation.dynamo,
        min_opset=16,
    )
)
