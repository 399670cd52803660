"""Makes the translations of both operators known to every export."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

import rewriters.ops.used_rows.torch_operator  # noqa: F401  # registers the operators with torch
from rewriters.ops.operator import ONNXRUNTIME, TENSORRT, Operator, register
from rewriters.ops.used_rows import onnx_translation, tensorrt_translation


def _any_number(tensors: Sequence[Any], _values: Mapping[str, Any]) -> Any:
    kind = tensors[0].type()
    known = kind.sizes()
    return kind.with_sizes([None, *known[1:]]) if known else kind


register(
    Operator(
        torch.ops.zooport.used_rows.default,
        _any_number,
        {ONNXRUNTIME: onnx_translation.used_rows, TENSORRT: tensorrt_translation.used_rows},
    )
)
register(
    Operator(
        torch.ops.zooport.to_slots.default,
        _any_number,
        {ONNXRUNTIME: onnx_translation.to_slots, TENSORRT: tensorrt_translation.to_slots},
    )
)
