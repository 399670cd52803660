"""Makes the operator's translations known to every export."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

import rewriters.ops.multi_level_roi_align.torch_operator  # noqa: F401  # registers the operator with torch
from rewriters.ops.multi_level_roi_align import onnx_translation, tensorrt_translation
from rewriters.ops.operator import ONNXRUNTIME, TENSORRT, Operator, register


def _result_type(tensors: Sequence[Any], values: Mapping[str, Any]) -> Any:
    known = tensors[0].type().sizes()
    channels = None if known is None else known[1]
    return tensors[0].type().with_sizes([None, channels, *values["output_size"]])


register(
    Operator(
        torch.ops.zooport.multi_level_roi_align.default,
        _result_type,
        {ONNXRUNTIME: onnx_translation.translate, TENSORRT: tensorrt_translation.translate},
    )
)
