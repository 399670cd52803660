"""Properties of the translations over shapes and values: their ONNX nodes in ONNX Runtime, against torch."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
import torch.nn.functional as F
import torchvision.ops
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from rewriters.ops.graph_builder import GraphBuilder
from rewriters.symbolic.cdist import cdist
from rewriters.symbolic.grid_sample import BORDER, LINEAR, NEAREST, REFLECTION, ZEROS, grid_sampler
from rewriters.symbolic.roi_pooling import ps_roi_align, roi_pool
from rewriters.symbolic.roll import roll
from rewriters.symbolic.sort import sort_stable

OPSET = 20
MODES = {LINEAR: "bilinear", NEAREST: "nearest"}
PADDINGS = {ZEROS: "zeros", BORDER: "border", REFLECTION: "reflection"}
few = settings(max_examples=25, deadline=None)
sizes = st.integers(1, 6)


def translated(
    translation: Callable[..., Any],
    tensors: Sequence[Tensor],
    results: int = 1,
    *,
    dynamic: bool = False,
    **values: Any,
) -> list[Any]:
    """What the nodes of a translation give: no exporter, so that many shapes are cheap. `dynamic`: no size is known."""
    names = [f"x{index}" for index in range(len(tensors))]
    kinds = [onnx.helper.np_dtype_to_tensor_dtype(x.numpy().dtype) for x in tensors]
    ranks = {name: x.ndim for name, x in zip(names, tensors, strict=True)}
    builder = GraphBuilder("t", ranks=ranks, kinds=dict(zip(names, kinds, strict=True)))
    found = translation(builder, *names, **values)
    outputs = ((found,) if isinstance(found, str) else found)[:results]
    graph = onnx.helper.make_graph(
        builder.nodes,
        "translation",
        [
            onnx.helper.make_tensor_value_info(n, k, [None] * x.ndim if dynamic else x.shape)
            for n, k, x in zip(names, kinds, tensors, strict=True)
        ],
        [onnx.ValueInfoProto(name=name) for name in outputs],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=10)
    options = ort.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    session = ort.InferenceSession(
        onnx.shape_inference.infer_shapes(model).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return list(session.run(None, {name: x.numpy() for name, x in zip(names, tensors, strict=True)}))


def random(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def regions(seed: int, images: int, count: int) -> Tensor:
    """Boxes [R, 5], some of which leave a map of 12 x 10 at a scale of 0.5."""
    uniform = torch.rand(count, 5, generator=torch.Generator().manual_seed(seed))
    corners = uniform[:, 1:3] * 30 - 4
    return torch.cat(((uniform[:, :1] * images).floor(), corners, corners + uniform[:, 3:] * 20 + 0.5), 1)


@few
@given(st.integers(0, 99), st.integers(1, 3), st.integers(1, 5), sizes, sizes, st.sampled_from([0.25, 0.5, 1.0]))
def test_roi_pool(seed: int, images: int, count: int, height: int, width: int, scale: float) -> None:
    x, boxes = random(seed, images, 2, 12, 10), regions(seed, images, count)
    want = torchvision.ops.roi_pool(x, boxes, (height, width), scale)
    (got,) = translated(roi_pool, [x, boxes], spatial_scale=scale, pooled_height=height, pooled_width=width)
    np.testing.assert_allclose(got, want.numpy(), atol=1e-6)


@few
@given(
    st.integers(0, 99), st.integers(1, 3), st.integers(1, 5), st.integers(1, 3), st.integers(1, 3), st.integers(-1, 3)
)
def test_ps_roi_align(seed: int, images: int, count: int, height: int, width: int, sampling: int) -> None:
    x, boxes = random(seed, images, 2 * height * width, 12, 10), regions(seed, images, count)
    want = torchvision.ops.ps_roi_align(x, boxes, (height, width), 0.5, sampling)
    (got,) = translated(
        ps_roi_align,
        [x, boxes],
        spatial_scale=0.5,
        pooled_height=height,
        pooled_width=width,
        sampling_ratio=sampling,
    )
    np.testing.assert_allclose(got, want.numpy(), atol=1e-5)


@few
@given(
    st.integers(0, 99),
    st.lists(sizes, min_size=2, max_size=3),
    st.sampled_from(sorted(MODES)),
    st.sampled_from(sorted(PADDINGS)),
    st.booleans(),
    st.integers(1, 3),
)
def test_grid_sample(seed: int, axes: list[int], mode: int, padding: int, corners: bool, batch: int) -> None:
    x, grid = random(seed, batch, 2, *axes), random(seed + 1, batch, *([3] * len(axes)), len(axes))
    want = F.grid_sample(x, grid, MODES[mode], PADDINGS[padding], corners)
    (got,) = translated(grid_sampler, [x, grid], interpolation_mode=mode, padding_mode=padding, align_corners=corners)
    np.testing.assert_allclose(got, want.numpy(), atol=1e-4)


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("axes", [(3, 4), (2, 3, 4)])
def test_grid_sample_at_odd_places(axes: tuple[int, ...], mode: int, padding: int, corners: bool) -> None:
    x, grid = random(0, 1, 2, *axes), random(1, 1, *([3] * len(axes)), len(axes))
    grid.view(-1, len(axes))[:3, 0] = torch.tensor([float("nan"), float("inf"), -float("inf")])
    want = F.grid_sample(x, grid, MODES[mode], PADDINGS[padding], corners)
    (got,) = translated(grid_sampler, [x, grid], interpolation_mode=mode, padding_mode=padding, align_corners=corners)
    if padding == ZEROS:  # torch's images give NaN where its volumes give 0, as all of ours do
        want = want.nan_to_num(0.0)
    np.testing.assert_allclose(got, want.numpy(), atol=1e-5)


@pytest.mark.parametrize(("batch", "channels"), [(0, 2), (2, 0)])
def test_grid_sample_of_nothing(batch: int, channels: int) -> None:
    x, grid = torch.rand(batch, channels, 4, 5), torch.rand(batch, 3, 2, 2)
    (got,) = translated(grid_sampler, [x, grid], interpolation_mode=LINEAR, padding_mode=ZEROS, align_corners=False)
    assert got.shape == (batch, channels, 3, 2)


def test_ps_roi_align_without_regions_of_any_size() -> None:
    values = {"spatial_scale": 0.5, "pooled_height": 2, "pooled_width": 3, "sampling_ratio": 2}
    (got,) = translated(ps_roi_align, [torch.rand(1, 12, 8, 9), torch.zeros(0, 5)], dynamic=True, **values)
    assert got.shape == (0, 2, 2, 3)


@few
@given(st.integers(0, 99), sizes, sizes, sizes, st.sampled_from([0.0, 1.0, 2.0, 2.5, float("inf")]), st.booleans())
def test_cdist(seed: int, rows: int, columns: int, width: int, p: float, batched: bool) -> None:
    batch = (2,) if batched else ()
    x, y = random(seed, *batch, rows, width), random(seed + 1, *batch, columns, width)
    (got,) = translated(cdist, [x, y], p=p, compute_mode=None)
    np.testing.assert_allclose(got, torch.cdist(x, y, p=p).numpy(), atol=1e-4)


@few
@given(st.lists(st.integers(0, 4), min_size=1, max_size=3), st.integers(-20, 20), st.integers(-20, 20), st.booleans())
def test_roll(shape: list[int], first: int, second: int, flat: bool) -> None:
    x = torch.arange(float(np.prod(shape))).reshape(shape)
    shifts, dims = ([first], []) if flat else ([first, second], [0, -1])
    (got,) = translated(roll, [x], shifts=shifts, dims=dims)
    np.testing.assert_array_equal(got, torch.roll(x, shifts, dims or None).numpy())


@few
@given(st.integers(0, 99), sizes, st.integers(1, 60), st.integers(0, 1), st.booleans())
def test_stable_sort(seed: int, rows: int, columns: int, dim: int, descending: bool) -> None:
    x = (random(seed, rows, columns) * 2).round()  # many ties
    want = torch.sort(x, dim=dim, descending=descending, stable=True)
    got = translated(sort_stable, [x], 2, stable=True, dim=dim, descending=descending)
    for ours, theirs in zip(got, want, strict=True):
        np.testing.assert_array_equal(ours, theirs.numpy())
