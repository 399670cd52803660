"""Makes the operator's translations known to every export."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

import rewriters.ops.nms_keep.torch_operator  # noqa: F401  # registers the operator with torch
from rewriters.ops.nms_keep import onnx_translation, tensorrt_translation
from rewriters.ops.operator import ONNXRUNTIME, TENSORRT, Operator, register


def _result_type(tensors: Sequence[Any], _values: Mapping[str, Any]) -> Any:
    return tensors[1].type().with_dtype(torch.bool)  # the scores


register(
    Operator(
        torch.ops.zooport.nms_keep.default,
        _result_type,
        {ONNXRUNTIME: onnx_translation.translate, TENSORRT: tensorrt_translation.translate},
    )
)
