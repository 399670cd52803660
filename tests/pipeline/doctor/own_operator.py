"""A model with an operator of its own: a symbolic rewriter writes it as a custom node, which has a kernel."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rewriters.ops.graph_builder import GraphBuilder
from rewriters.symbolic.declaration import symbolic
from rewriters.symbolic.kernels import kernel


@torch.library.custom_op("doctortest::two_a", mutates_args=())
def two_a(x: Tensor) -> Tensor:
    return x * 2


@two_a.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


@symbolic("doctortest::two_a", reason="for a test", written_for="this test")
def written(b: GraphBuilder, x: str) -> str:
    result: str = b.node("TwoA", x, domain="doctortest")
    return result


@kernel("doctortest::TwoA")
def computed(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return x * 2


class OwnOperator(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = two_a(x)
        return torch.relu(result)
