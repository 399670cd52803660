"""Sampling written by gathering: places in a wide image are computed in fp32, whatever is fp16 around them."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torchvision.ops import deform_conv2d

from rewriters.graph_passes.expand_operators import expand_operators
from rewriters.onnx_graph.graph_outputs import run_once
from rewriters.precision import to_fp16
from rewriters.precision.rounded import rounded
from tests.rewriters.symbolic.operator_calls import target_of, written
from zoo.precision_options import PrecisionOptions

WIDTH = 1280
BOUND = 2e-3  # of the largest number: a few roundings by 2**-11; with places in fp16 it is 0.06 to 0.4


class Sampling(nn.Module):
    """Features that are read beside their own places, by offsets that are computed of them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 4, 1)
        self.offsets = nn.Conv2d(8, 18, 3, padding=1)

    def forward(self, x: Tensor) -> Any:
        """x [1, 3, H, W] -> [1, 4, H, W]."""
        features = self.first(x).relu()
        return self.last(self.sampled(features, self.offsets(features)))

    def sampled(self, features: Tensor, offsets: Tensor) -> Tensor:
        """Features [1, 8, H, W], offsets [1, 18, H, W]."""
        rows, columns = (torch.linspace(-1, 1, size) for size in features.shape[2:])
        grid = torch.stack(torch.meshgrid(columns, rows, indexing="xy"), -1)[None]
        grid = grid + 0.01 * offsets[:, :2].permute(0, 2, 3, 1)
        return nn.functional.grid_sample(features, grid, align_corners=False)


class Deforming(Sampling):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 8, 3, 3) * 0.1)

    def sampled(self, features: Tensor, offsets: Tensor) -> Tensor:
        """As that of Sampling."""
        result: Tensor = deform_conv2d(features, offsets, self.weight, padding=1)
        return result


@pytest.mark.parametrize("kind", [Sampling, Deforming])
def test_places_in_a_wide_image_are_fp32(kind: type[Sampling]) -> None:
    torch.manual_seed(0)
    net, x = kind().eval().requires_grad_(requires_grad=False), torch.rand(1, 3, 4, WIDTH)
    target = target_of("torchscript", 20, "tensorrt-rtx")
    model = written(net, [x], target)
    expand_operators(model, target)
    assert not {"DeformConv", "GridSample"} & {node.op_type for node in model.graph.node}
    feeds = {model.graph.input[0].name: x.numpy()}
    made, report = to_fp16(model, PrecisionOptions(), [feeds])
    assert set(report.nodes) == {"float16"}
    want, got = (run_once(one.SerializeToString(), feeds)[0] for one in (model, rounded(made)))
    assert np.abs(want - got).max() < BOUND * np.abs(want).max()
