"""Makes the operator's translations known to every export."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

import rewriters.ops.heatmap_keypoints.torch_operator  # noqa: F401  # registers the operator with torch
from rewriters.ops.heatmap_keypoints import onnx_translation, tensorrt_translation
from rewriters.ops.operator import ONNXRUNTIME, TENSORRT, Operator, register


def _result_type(tensors: Sequence[Any], _values: Mapping[str, Any]) -> Any:
    known = tensors[0].type().sizes()
    return tensors[0].type().with_sizes([None, None if known is None else known[1], 3])


register(
    Operator(
        torch.ops.zooport.heatmap_keypoints.default,
        _result_type,
        {ONNXRUNTIME: onnx_translation.translate, TENSORRT: tensorrt_translation.translate},
    )
)
