"""zooport::mark, which names a tensor (see zoo.ops.mark). The graph pass keep_marks takes its nodes out.

A translation is needed where keep_marks does not run: the identity.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

import zoo.ops.mark  # noqa: F401  # registers the operator with torch
from rewriters.ops.graph_builder import GraphBuilder
from rewriters.ops.operator import Operator, register
from zoo.dialect import RUNTIME, STANDARD


def identity(b: GraphBuilder, tensor: str, *, name: str) -> str:
    """-> the tensor."""
    same: str = b.Identity(tensor)
    return same


def _same_type(tensors: Sequence[Any], _values: Mapping[str, Any]) -> Any:
    return tensors[0].type()


register(Operator(torch.ops.zooport.mark.default, _same_type, {RUNTIME: identity, STANDARD: identity}))
