"""zooport::multi_level_roi_align, RoIAlign of each box from the pyramid level that is its own."""

import torch

from rewriters.ops.multi_level_roi_align import onnx_translation
from rewriters.ops.multi_level_roi_align.torch_operator import multi_level_roi_align
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

__all__ = ["multi_level_roi_align"]
