"""F.pad in every mode, from both exporters: torch's numbers in ONNX Runtime, and what TensorRT takes of it.

torch lists paddings from the last axis backwards, a pair for each; ONNX all beginnings, then all ends. What an engine
computes of it needs a GPU.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from rewriters import rewriting
from tests.examples import examples
from tests.exporters import DYNAMO_LATER
from tests.rewriters.small_models import export, fixed_target, run, without_rewriter
from tests.rewriters.tensorrt.rtx_engine import needs_rtx, rtx_engine
from zoo.errors import ExportError
from zoo.tensor_spec import TensorSpec

NAME = "torch.nn.functional.pad"
MODES = ("constant", "reflect", "replicate", "circular")
SIDES = {1: (5,), 2: (6, 5), 3: (3, 6, 5)}
# axes counted from the last one, as torch lists them
CASES: dict[str, tuple[int, list[int]]] = {
    "1d": (1, [2, 3]),
    "1d, cut": (1, [-2, 3]),
    "2d": (2, [1, 2, 3, 0]),
    "2d, cut": (2, [-1, 2, 3, -2]),
    "2d, all cut": (2, [-1, -1, -2, 0]),
    "3d": (3, [1, 2, 0, 3, 2, 1]),
    "3d, cut": (3, [1, -2, 0, 3, -1, 1]),
}
TOO_LITTLE = (1, [3, -4])  # is left to reflect in ONNX, and to wrap in torch
CONSTANT_CASES = {
    "channels": (2, [1, 2, 0, 1, 2, 1]),
    "batch": (2, [0, 1, 0, 0, 1, 0, 1, 2]),
    "last axis of three": (3, [1, 2]),
    "channels, cut": (2, [1, 2, 0, -1, -1, 2]),
}
ALL = [(mode, *case) for mode in MODES for case in CASES.values()]
ALL += [(mode, *TOO_LITTLE) for mode in ("reflect", "replicate")]
ALL += [("constant", *case) for case in CONSTANT_CASES.values()]


class Padded(nn.Module):
    """Of images [N, 3, 6, 5] the first row, all, or three volumes of them."""

    def __init__(self, mode: str, axes: int, pads: list[int]) -> None:
        super().__init__()
        self.mode, self.axes, self.pads = mode, axes, pads

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        x = images
        if self.axes == 1:
            x = images[:, :, 0]
        elif self.axes == 3:
            x = torch.stack((images, images + 1, images * 2), dim=2)
        return (F.pad(x, self.pads, self.mode, 0.5 if self.mode == "constant" else None),)


def wraps_once(axes: int, pads: list[int]) -> bool:
    """Of an axis no more is wrapped than a cut leaves; torch reads memory that it has not written otherwise."""
    left = [size + min(pads[2 * n], 0) + min(pads[2 * n + 1], 0) for n, size in enumerate(reversed(SIDES[axes]))]
    return all(max(pads[2 * n : 2 * n + 2]) <= size for n, size in enumerate(left))


def exported(module: Padded, exporter: str, path: Path, **changes: Any) -> Path:
    shape = tuple(module(torch.zeros(2, 3, 6, 5))[0].shape)
    target = fixed_target(6, 5, exporter=exporter, **changes)
    first = "batch" if shape[0] == 2 else "more"
    export(module, target, path, [TensorSpec("y", "float32", (first, *shape[1:]))])
    return path


def check_numbers(module: Padded, path: Path) -> None:
    for batch in (1, 3):
        images = torch.rand(batch, 3, 6, 5, generator=torch.Generator().manual_seed(batch))
        np.testing.assert_array_equal(run(path, images)[0], module(images)[0].numpy())


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
@pytest.mark.parametrize("mode", MODES)
def test_torchs_numbers_in_onnxruntime(mode: str, exporter: str, tmp_path: Path) -> None:
    """All cases of a mode in one graph: an export takes its time."""
    cases = [Padded(*case) for case in ALL if case[0] == mode]

    class Together(nn.Module):
        def forward(self, images: Tensor) -> tuple[Tensor, ...]:
            return tuple(case(images)[0] for case in cases)

    module = Together().eval()
    shapes = [tuple(output.shape) for output in module(torch.zeros(2, 3, 6, 5))]
    specs = [
        TensorSpec(f"y{number}", "float32", ("batch" if shape[0] == 2 else f"more{number}", *shape[1:]))
        for number, shape in enumerate(shapes)
    ]
    export(module, fixed_target(6, 5, exporter=exporter), tmp_path / "m.onnx", specs)
    for batch in (1, 3):
        images = torch.rand(batch, 3, 6, 5, generator=torch.Generator().manual_seed(batch))
        for got, want in zip(run(tmp_path / "m.onnx", images), module(images), strict=True):
            np.testing.assert_array_equal(got, want.numpy())


def test_padding_then_cutting_is_what_torch_does() -> None:
    original = F.pad
    with rewriting(fixed_target(6, 5), eager=True) as session:

        @given(
            mode=st.sampled_from(MODES[1:]),
            axes=st.sampled_from([1, 2, 3]),
            sizes=st.lists(st.integers(-4, 5), min_size=6, max_size=6),
        )
        @examples(50, 200)
        def check(mode: str, axes: int, sizes: list[int]) -> None:
            pads = sizes[: 2 * axes]
            assume(min(pads) < 0 and (mode != "circular" or wraps_once(axes, pads)))
            x = torch.rand(2, 3, *SIDES[axes])
            try:
                expected = original(x, pads, mode)
            except RuntimeError:  # too much is cut, reflected or wrapped
                assume(False)
            torch.testing.assert_close(F.pad(x, pads, mode), expected, atol=0, rtol=0)

        check()
    assert session.hits[NAME] >= 50


@pytest.mark.slow
@pytest.mark.parametrize("exporter", ["torchscript", "dynamo"])
def test_any_padding(exporter: str, tmp_path: Path) -> None:
    @given(
        mode=st.sampled_from(MODES),
        axes=st.sampled_from([1, 2, 3]),
        sizes=st.lists(st.integers(-4, 5), min_size=6, max_size=6),
    )
    @settings(max_examples=40 if exporter == "torchscript" else 12, deadline=None)
    def check(mode: str, axes: int, sizes: list[int]) -> None:
        module = Padded(mode, axes, sizes[: 2 * axes]).eval()
        try:
            shape = module(torch.zeros(2, 3, 6, 5))[0].shape
        except RuntimeError:  # too much is cut, reflected or wrapped
            assume(False)
        assume(min(shape) > 0 and (mode != "circular" or wraps_once(axes, module.pads)))
        check_numbers(module, exported(module, exporter, tmp_path / "m.onnx"))

    check()


def test_without_it_circular_padding_that_cuts_is_wrong(tmp_path: Path) -> None:  # rule 6, seen with torch 2.15
    module = Padded("circular", 3, [1, -2, 0, 1, 1, -1]).eval()
    with without_rewriter(NAME), pytest.raises((AssertionError, ExportError)):
        check_numbers(module, exported(module, "torchscript", tmp_path / "plain.onnx"))
    check_numbers(module, exported(module, "torchscript", tmp_path / "ours.onnx"))


def test_without_it_onnxruntime_refuses_to_reflect_what_a_cut_leaves(tmp_path: Path) -> None:
    module = Padded("reflect", *TOO_LITTLE).eval()
    with without_rewriter(NAME), pytest.raises(ExportError, match="Pad reflect requires"):
        exported(module, "torchscript", tmp_path / "plain.onnx")
    check_numbers(module, exported(module, "torchscript", tmp_path / "ours.onnx"))


@needs_rtx
@pytest.mark.tensorrt
@pytest.mark.slow
@pytest.mark.parametrize("exporter", ["torchscript", "dynamo"])
@pytest.mark.parametrize(("mode", "axes", "pads"), ALL)
def test_tensorrt_rtx_takes_it(mode: str, axes: int, pads: list[int], exporter: str, tmp_path: Path) -> None:
    path = exported(Padded(mode, axes, pads).eval(), exporter, tmp_path / "m.onnx", backend="tensorrt-rtx")
    assert any(node.op_type in ("Pad", "Concat") for node in onnx.load(path).graph.node)
    rtx_engine(path, 1, 2, 4)
