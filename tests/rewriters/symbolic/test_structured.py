"""deform_conv2d, roi pooling, sort, cdist, roll and grid_sample: torch's numbers in ONNX Runtime."""

from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
import torch.nn.functional as F
import torchvision.ops
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version
from torch import Tensor

from tests.exporters import DYNAMO_LATER
from tests.rewriters.symbolic.operator_calls import check_equal, run, target_of, written
from zoo.errors import ExportError


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def rois(count: int = 6) -> Tensor:
    corner, side = (
        torch.rand(count, 2, generator=generator()) * 30 - 4,
        torch.rand(count, 2, generator=generator(1)) * 30,
    )
    image = torch.randint(0, 2, (count, 1), generator=generator(2))
    return torch.cat((image, corner, corner + side + 0.5), 1)


@settings(max_examples=12, deadline=None)
@given(
    groups=st.sampled_from([1, 2]),
    offset_groups=st.sampled_from([1, 2, 4]),
    mask=st.booleans(),
    bias=st.booleans(),
    stride=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    padding=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    dilation=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    opset=st.sampled_from([19, 20]),
    backend=st.sampled_from(["onnxruntime", "openvino", "tensorrt-rtx"]),
)
def test_deform_conv2d(
    groups: int,
    offset_groups: int,
    mask: bool,
    bias: bool,
    stride: Any,
    padding: Any,
    dilation: Any,
    opset: int,
    backend: str,
) -> None:
    x, weight = (
        torch.randn(2, 4, 9, 10, generator=generator()),
        torch.randn(6, 4 // groups, 3, 2, generator=generator()),
    )
    conv = F.conv2d(x, torch.zeros(1, 4, 3, 2), None, stride, padding, dilation)
    offset = torch.randn(2, offset_groups * 12, *conv.shape[2:], generator=generator()) * 2
    masked = torch.rand(2, offset_groups * 6, *conv.shape[2:], generator=generator())
    terms = torch.randn(6, generator=generator()) if bias else None

    def compute(x: Tensor, offset: Tensor, weight: Tensor, masked: Tensor) -> Tensor:
        result: Tensor = torchvision.ops.deform_conv2d(
            x, offset, weight, terms, stride, padding, dilation, masked if mask else None
        )
        return result if mask else result + 0 * masked.sum()

    check_equal(compute, [x, offset, weight, masked], target_of("torchscript", opset, backend), 1e-4)


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
@pytest.mark.parametrize("sampling", [-1, 2])
def test_ps_roi_align(exporter: str, sampling: int) -> None:
    x = torch.randn(2, 12, 16, 20, generator=generator())
    check_equal(
        lambda x, r: torchvision.ops.ps_roi_align(x, r, (2, 3), 0.5, sampling), [x, rois()], target_of(exporter), 1e-4
    )


def malformed_rois() -> Tensor:
    """One or both sides reversed, beside ordinary regions, and one outside of the image."""
    return torch.tensor(
        [
            [0, 1, 1, 16, 12],
            [0, 16, 2, 4, 18],
            [1, 2, 18, 16, 4],
            [1, 16, 18, 4, 2],
            [1, 3, 2, 20, 22],
            [0, -30, -30, -20, -20],
        ],
        dtype=torch.float32,
    )


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
@pytest.mark.parametrize("sampling", [-1, 0, 2])
def test_ps_roi_align_of_reversed_regions(exporter: str, sampling: int) -> None:
    """ONNX Runtime would end the run of the whole batch where torchvision gives zeros for one region."""
    x = torch.randn(2, 12, 16, 20, generator=generator())
    result = torchvision.ops.ps_roi_align(x, malformed_rois(), (2, 3), 0.5, sampling)
    assert result[0].any()
    assert bool(result[1].any()) == (sampling > 0)
    check_equal(
        lambda x, r: torchvision.ops.ps_roi_align(x, r, (2, 3), 0.5, sampling),
        [x, malformed_rois()],
        target_of(exporter),
        1e-4,
    )


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
@pytest.mark.parametrize(("aligned", "sampling"), [(False, -1), (False, 2), (True, 2)])
def test_roi_align_of_reversed_regions(exporter: str, aligned: bool, sampling: int) -> None:
    """Aligned without a sampling_ratio, torchvision itself raises an error for one reversed side."""
    x = torch.randn(2, 4, 16, 20, generator=generator())
    check_equal(
        lambda x, r: torchvision.ops.roi_align(x, r, (3, 5), 0.5, sampling, aligned),
        [x, malformed_rois()],
        target_of(exporter),
        1e-4,
        ours=False,
    )


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_roi_pool_of_reversed_regions(exporter: str) -> None:
    x = torch.randn(2, 4, 16, 20, generator=generator())
    check_equal(
        lambda x, r: torchvision.ops.roi_pool(x, r, (3, 4), 0.5),
        [x, malformed_rois()],
        target_of(exporter),
        ours=exporter == "dynamo",
    )


@pytest.mark.parametrize("backend", ["onnxruntime", "openvino", "tensorrt-rtx"])
def test_deform_conv2d_of_offsets_far_outside(backend: str) -> None:
    x, weight = torch.randn(2, 4, 9, 10, generator=generator()), torch.randn(6, 4, 3, 3, generator=generator())
    offset = torch.randn(2, 18, 7, 8, generator=generator()) * 2
    offset[0, :4], offset[1, 3] = -1e6, 1e6
    check_equal(torchvision.ops.deform_conv2d, [x, offset, weight], target_of("torchscript", 20, backend), 1e-4)


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
@pytest.mark.parametrize("aligned", [False, True])
def test_roi_align_needs_no_rewriter(exporter: str, aligned: bool) -> None:
    x = torch.randn(2, 4, 16, 20, generator=generator())
    for sampling in (-1, 2):
        check_equal(
            lambda x, r, s=sampling: torchvision.ops.roi_align(x, r, (3, 5), 0.5, s, aligned),
            [x, rois()],
            target_of(exporter),
            1e-4,
            ours=False,
        )


def test_roi_pool() -> None:
    x = torch.randn(2, 4, 16, 20, generator=generator())
    check_equal(lambda x, r: torchvision.ops.roi_pool(x, r, (3, 4), 0.5), [x, rois()], target_of("dynamo"))


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_stable_sort_of_ties(exporter: str) -> None:
    x = torch.randint(0, 5, (3, 200), generator=generator())
    for values in (x.float(), x, x.double()):
        check_equal(lambda x: torch.sort(x, dim=1, descending=True, stable=True), [values], target_of(exporter))
    check_equal(lambda x: torch.argsort(x, dim=0, stable=True), [x.float()], target_of(exporter))


@pytest.mark.parametrize("descending", [False, True])
def test_stable_sort_of_what_is_no_number(descending: bool) -> None:
    nan = float("nan")
    x = torch.tensor([[3.0, nan, 1.0, 0.0, nan, 0.0], [nan, nan, float("inf"), -1.0, -1.0, float("-inf")]])
    check_equal(lambda x: torch.sort(x, dim=1, descending=descending, stable=True), [x], target_of("torchscript"))


def test_other_overloads_of_sort_stay_torchs() -> None:
    check_equal(lambda x: torch.sort(x, dim=1)[0], [torch.randn(3, 9)], target_of("torchscript"), ours=False)


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
@pytest.mark.parametrize("p", [0.0, 1.0, 2.5, float("inf")])
def test_cdist(exporter: str, p: float) -> None:
    x, y = torch.randn(2, 7, 5, generator=generator()), torch.randn(1, 9, 5, generator=generator(1))
    check_equal(lambda x, y: torch.cdist(x, y, p=p), [x, y], target_of(exporter))


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_euclidean_cdist(exporter: str) -> None:
    x, y = torch.randn(30, 5, generator=generator()), torch.randn(40, 5, generator=generator(1))
    check_equal(torch.cdist, [x, y], target_of(exporter), 1e-4)
    check_equal(
        lambda x, y: torch.cdist(x, y, compute_mode="use_mm_for_euclid_dist"), [x, y], target_of(exporter), 1e-3
    )


@pytest.mark.parametrize("p", [0.0, 2.0, float("inf")])
def test_cdist_of_different_ranks_at_the_lowest_opset(p: float) -> None:
    x, y = torch.randn(2, 4, 3, generator=generator()), torch.randn(5, 3, generator=generator(1))
    check_equal(lambda x, y: torch.cdist(x, y, p=p), [x, y], target_of("torchscript", 17))


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 2.5, float("inf")])
@pytest.mark.parametrize(("rows", "columns", "width"), [(0, 5, 3), (4, 0, 3), (4, 5, 0)])
def test_cdist_of_nothing(p: float, rows: int, columns: int, width: int) -> None:
    if p == float("inf") and width and Version(onnxruntime.__version__) < Version("1.31"):
        pytest.skip("ONNX Runtime before 1.31 crashes in TopK of an empty tensor")
    x, y = torch.randn(rows, width), torch.randn(columns, width)
    check_equal(lambda x, y: torch.cdist(x, y, p=p), [x, y], target_of("torchscript"))


@pytest.mark.parametrize("p", [0.0, 2.0, float("inf")])
def test_cdist_of_what_is_no_number(p: float) -> None:
    x, y = torch.tensor([[float("nan"), 1.0], [float("inf"), 9.0]]), torch.tensor([[0.0, 5.0], [1.0, 1.0]])
    check_equal(lambda x, y: torch.cdist(x, y, p=p), [x, y], target_of("torchscript"))


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
@pytest.mark.parametrize(
    ("shifts", "dims"), [((2, -3), (2, 3)), ((9,), (2,)), ((-20, 1), (-1, 0)), ((5,), ()), ((700,), ())]
)
def test_roll_by_any_shift(exporter: str, shifts: tuple[int, ...], dims: tuple[int, ...]) -> None:
    x = torch.randn(2, 3, 7, 8, generator=generator())
    check_equal(lambda x: torch.roll(x, shifts, dims or None), [x], target_of(exporter))


def check_gathered(exporter: str, mode: str, padding: str, *, align_corners: bool) -> None:
    for sizes in ((9, 11), (5, 6, 7)):
        x = torch.randn(2, 3, *sizes, generator=generator())
        grid = torch.rand(2, *(size - 1 for size in sizes), len(sizes), generator=generator(1)) * 5 - 2.5
        model = check_equal(
            lambda x, g: F.grid_sample(x, g, mode, padding, align_corners),
            [x, grid],
            target_of(exporter, 18, "tensorrt-rtx"),
        )
        assert "GridSample" not in [node.op_type for node in model.graph.node]


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_grid_sample_by_gathering(mode: str, padding: str, align_corners: bool) -> None:
    check_gathered("torchscript", mode, padding, align_corners=align_corners)


@pytest.mark.slow
def test_grid_sample_by_gathering_with_dynamo() -> None:
    check_gathered("dynamo", "bilinear", "reflection", align_corners=False)


def sampled_on_a_line(x: Tensor) -> Tensor:
    """At a grid made by linspace, in the image's dtype."""
    rows, columns = (torch.linspace(-1, 1, size, dtype=x.dtype) for size in x.shape[2:])
    grid = torch.stack(torch.meshgrid(columns, rows, indexing="xy"), -1)
    return F.grid_sample(x, grid.expand(len(x), -1, -1, -1), align_corners=False)


def deformed_on_a_line(x: Tensor) -> Tensor:
    offset = torch.linspace(-1, 1, 18 * (x.shape[2] - 2) * (x.shape[3] - 2), dtype=x.dtype)
    offset = offset.reshape(1, 18, x.shape[2] - 2, x.shape[3] - 2).expand(len(x), -1, -1, -1)
    return torchvision.ops.deform_conv2d(x, offset, torch.ones(2, 3, 3, 3, dtype=x.dtype))


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("compute", [sampled_on_a_line, deformed_on_a_line])
def test_tensors_that_torchscript_writes_in_another_dtype(exporter: str, dtype: torch.dtype, compute: Any) -> None:
    """torchscript's linspace gives float32 whatever was asked for; ours takes one dtype for image and places."""
    x = torch.rand(2, 3, 7, 9, generator=generator()).to(dtype)
    atol = 0.05 if dtype == torch.float16 else 1e-5
    check_equal(compute, [x], target_of(exporter, backend="tensorrt-rtx"), atol)


def test_volumes_are_gathered_below_opset_20_and_images_are_not() -> None:
    x, grid = torch.randn(1, 2, 4, 5, 6), torch.rand(1, 3, 3, 3, 3) * 2 - 1
    check_equal(lambda x, g: F.grid_sample(x, g, align_corners=False), [x, grid], target_of("torchscript", 18))
    check_equal(
        lambda x, g: F.grid_sample(x, g, align_corners=False),
        [x[:, :, 0], grid[:, 0, :, :, :2]],
        target_of("torchscript", 18),
        ours=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("opset", [18, 19])
def test_dynamo_below_opset_20(opset: int) -> None:
    x, grid = torch.randn(1, 2, 4, 5, 6), torch.rand(1, 3, 3, 3, 3) * 2 - 1
    check_equal(lambda x, g: F.grid_sample(x, g, align_corners=False), [x, grid], target_of("dynamo", opset))
    check_equal(
        lambda x, g: F.grid_sample(x, g, align_corners=True),
        [x[:, :, 0], grid[:, 0, :, :, :2]],
        target_of("dynamo", opset),
        ours=False,
    )


def test_bicubic_sampling_has_no_gather_form() -> None:
    x, grid = torch.randn(1, 2, 5, 6), torch.rand(1, 3, 3, 2)
    target = target_of("torchscript", backend="tensorrt")
    with pytest.raises(ExportError, match="bicubic.*no gather form"):
        check_equal(lambda x, g: F.grid_sample(x, g, "bicubic", align_corners=False), [x, grid], target)


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
@pytest.mark.parametrize(
    ("compute", "shape"),
    [
        (lambda x: F.unfold(x, (3, 2), dilation=(1, 2), padding=1, stride=2), (2, 3, 9, 10)),
        (lambda x: F.fold(x, (6, 7), (3, 2), padding=1), (2, 18, 48)),
        (lambda x: F.interpolate(x, (17, 8), mode="bicubic"), (2, 3, 11, 13)),
        (lambda x: F.interpolate(x, (17, 8), mode="bicubic", align_corners=True), (2, 3, 11, 13)),
        (lambda x: F.grid_sample(x, x[:, :2].permute(0, 2, 3, 1), "bicubic", align_corners=False), (2, 3, 7, 8)),
    ],
    ids=["unfold", "fold", "bicubic", "bicubic with corners", "grid_sample"],
)
def test_what_needs_no_rewriter(exporter: str, compute: Any, shape: tuple[int, ...]) -> None:
    check_equal(compute, [torch.randn(shape, generator=generator())], target_of(exporter), ours=False)


class TestNeeded:
    """Rule 6: what goes wrong without them. Seen with torch 2.15."""

    def test_torchscripts_cdist_is_wrong(self) -> None:
        x, y = torch.randn(7, 5, generator=generator()), torch.randn(9, 5, generator=generator(1))
        (got,) = self._plain(lambda x, y: torch.cdist(x, y, p=float("inf")), [x, y])
        assert np.abs(got - torch.cdist(x, y, p=float("inf")).numpy()).max() > 0.1

    def test_torchscripts_roll_does_nothing_for_a_long_shift(self) -> None:
        x = torch.arange(7.0)
        (got,) = self._plain(lambda x: torch.roll(x, 9, 0), [x])
        np.testing.assert_array_equal(got, x.numpy())

    @staticmethod
    def _plain(compute: Any, tensors: list[Tensor]) -> list[Any]:
        from rewriters.symbolic import declaration

        saved, declaration.SYMBOLIC_REWRITERS[:] = list(declaration.SYMBOLIC_REWRITERS), []
        try:
            return run(written(compute, tensors, target_of("torchscript")), tensors)
        finally:
            declaration.SYMBOLIC_REWRITERS[:] = saved
