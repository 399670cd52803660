"""interpolate(antialias=True) as products: torch's numbers, for any size; with aligned corners for dynamo, too."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from backends.registry import get_backend
from rewriters import rewriting
from rewriters.export_onnx import tensor_spec
from rewriters.torch_functions.antialiasing import resize_matrix
from tests.examples import examples
from tests.exporters import DYNAMO_LATER
from tests.rewriters.small_models import export, fixed_target, run, without_rewriter
from zoo.errors import ExportError
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

NAME = "torch.nn.functional.interpolate"
FIXED = fixed_target(40, 56, exporter="torchscript")
DYNAMIC = FIXED.with_(height=AxisRange(8, 40, 90), width=AxisRange(8, 56, 90))
TARGETS = {"fixed": FIXED, "dynamic": DYNAMIC}
BOUND = 2e-5  # of values 0..1 and sides up to 1000: torch's float32 weights
MODES = st.sampled_from(["bilinear", "bicubic"])
SIDES = st.integers(2, 100)  # to one column torch itself is wrong: see below


class Resized(nn.Module):
    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        return (F.interpolate(images, antialias=True, **self.options),)


@pytest.mark.parametrize("sizes", TARGETS)
def test_torchs_numbers(sizes: str) -> None:
    original = F.interpolate
    with rewriting(TARGETS[sizes], eager=True) as session:

        @examples(20, 80)
        @given(height=SIDES, width=SIDES, size=st.tuples(SIDES, SIDES), mode=MODES, align_corners=st.booleans())
        def given_a_size(height: int, width: int, size: tuple[int, int], mode: str, align_corners: bool) -> None:
            x = torch.rand(2, 2, height, width, generator=torch.Generator().manual_seed(height + width))
            options: dict[str, Any] = {"size": size, "mode": mode, "align_corners": align_corners, "antialias": True}
            torch.testing.assert_close(F.interpolate(x, **options), original(x, **options), atol=BOUND, rtol=0)

        @examples(12, 40)
        @given(
            height=SIDES,
            width=SIDES,
            scale=st.sampled_from([0.5, 0.75, 1.7, 2.0]),
            mode=MODES,
            recompute=st.sampled_from([None, False, True]),
            align_corners=st.booleans(),
        )
        def given_a_scale(
            height: int, width: int, scale: float, mode: str, recompute: bool | None, align_corners: bool
        ) -> None:
            x = torch.rand(1, 2, height + 2, width + 2, generator=torch.Generator().manual_seed(height + width))
            options: dict[str, Any] = {"scale_factor": scale, "mode": mode, "recompute_scale_factor": recompute}
            options |= {"align_corners": align_corners, "antialias": True}
            torch.testing.assert_close(F.interpolate(x, **options), original(x, **options), atol=BOUND, rtol=0)

        given_a_size()
        given_a_scale()
        assert session.hits[NAME] >= 10


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize(("size", "out"), [(1000, 333), (4000, 1333), (150, 255)])
def test_exact_against_torch_in_double(size: int, out: int, mode: str) -> None:
    x = torch.rand(1, 1, 3, size, dtype=torch.float64)
    expected = F.interpolate(x, (3, out), mode=mode, antialias=True)
    got = x @ resize_matrix(size, out, mode, align_corners=False).double().T
    torch.testing.assert_close(got, expected, atol=2e-7, rtol=0)


def test_to_one_column_torch_itself_is_wrong() -> None:
    """torch 2.15: once this fails, the exception in antialiasing.py and in SIDES is not needed any more."""
    column = torch.arange(8.0).reshape(1, 1, 8, 1)
    assert F.interpolate(column, (4, 1), mode="bilinear", antialias=True).unique().numel() == 1


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
@pytest.mark.parametrize("sizes", TARGETS)
@pytest.mark.parametrize(
    "options",
    [
        {"size": (13, 21), "mode": "bilinear"},
        {"size": (13, 21), "mode": "bicubic", "align_corners": True},
        {"scale_factor": 0.4, "mode": "bicubic", "align_corners": True},
    ],
)
def test_any_size_in_onnxruntime(sizes: str, options: dict[str, Any], exporter: str, tmp_path: Path) -> None:
    module, path = Resized(**options).eval(), tmp_path / "m.onnx"
    sides: tuple[int | str, ...] = options.get("size", (16, 22) if sizes == "fixed" else ("height_1", "width_1"))
    specs = [TensorSpec("resized", "float32", ("batch", 3, *sides))]
    required = [NAME] if exporter == "torchscript" or "align_corners" in options else []
    export(module, TARGETS[sizes].with_(exporter=exporter), path, specs, required_rewriters=required)
    for count, height, width in ((1, 40, 56), (3, 40, 56), *([(2, 8, 9), (1, 89, 33)] if sizes == "dynamic" else [])):
        images = torch.rand(count, 3, height, width)
        np.testing.assert_allclose(run(path, images)[0], module(images)[0].numpy(), atol=BOUND)


SPECS = [TensorSpec("resized", "float32", ("batch", 3, 13, 21))]


def test_needed_without_it_torchscript_refuses(tmp_path: Path) -> None:
    """Rule 6. Seen with torch 2.15."""
    with without_rewriter(NAME), pytest.raises(ExportError, match="_upsample_bilinear2d_aa"):
        export(Resized(size=(13, 21), mode="bilinear").eval(), FIXED, tmp_path / "m.onnx", SPECS)


@pytest.mark.slow
def test_needed_without_it_dynamo_moves_the_centres_of_aligned_corners(tmp_path: Path) -> None:
    """Rule 6. Seen with torch 2.15 and ONNX Runtime 1.31: off by a fifth of the values' range."""
    module, path = Resized(size=(13, 21), mode="bilinear", align_corners=True).eval(), tmp_path / "m.onnx"
    with without_rewriter(NAME):
        export(module, FIXED.with_(exporter="dynamo"), path, SPECS)
    images = torch.rand(2, 3, 40, 56)
    assert np.abs(run(path, images)[0] - module(images)[0].numpy()).max() > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"size": (13, 21), "mode": "bilinear"}, {"size": (60, 90), "mode": "bicubic"}])
def test_needed_without_it_openvino_leaves_the_antialiasing_of_dynamo_out(
    options: dict[str, Any], tmp_path: Path
) -> None:
    """Rule 6. Seen with OpenVINO 2026.4.1: 0.03 of the values' range off where it enlarges, 0.4 where it shrinks."""
    module, target = Resized(**options).eval(), FIXED.with_(exporter="dynamo", backend="openvino")
    images = torch.rand(2, 3, 40, 56)
    specs = [TensorSpec("resized", "float32", ("batch", 3, *options["size"]))]

    def error() -> float:
        export(module, target, tmp_path / "m.onnx", specs)
        model = onnx.load(tmp_path / "m.onnx")
        inputs, outputs = (
            [tensor_spec(value) for value in values] for values in (model.graph.input, model.graph.output)
        )
        with get_backend("openvino").open_graph(tmp_path / "m.onnx", inputs, outputs, target=target) as runner:
            return float(np.abs(runner.run({"images": images.numpy()})["resized"] - module(images)[0].numpy()).max())

    assert error() < BOUND
    with without_rewriter(NAME):
        assert error() > 0.02


@pytest.mark.parametrize("backend", ["tensorrt", "tensorrt-rtx", "openvino"])
def test_other_backends_get_products_from_dynamo_as_well(backend: str) -> None:
    x = torch.rand(1, 3, 40, 56)
    for chosen, hits in ((backend, 1), ("onnxruntime", 0)):
        with rewriting(fixed_target(40, 56, exporter="dynamo", backend=chosen), eager=True) as session:
            F.interpolate(x, (20, 30), mode="bilinear", antialias=True)
        assert session.hits[NAME] == hits
