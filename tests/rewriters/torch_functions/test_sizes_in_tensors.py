"""as_tensor, tensor and linspace of sizes: the graphs are right at every size, of torchscript at one row, too."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from rewriters import rewriting
from tests.rewriters.small_models import export, fixed_target, run, without_rewriter
from zoo.errors import ExportError
from zoo.target import AxisRange, Target
from zoo.tensor_spec import TensorSpec

SPECS = [TensorSpec("out", "float32", ("batch", 3, "height", "width"))]


def dynamic() -> Target:
    target = fixed_target(16, 24, exporter="torchscript")
    return target.with_(height=AxisRange(1, 16, 60), width=AxisRange(1, 24, 60))


class OfSizes(nn.Module):
    """images [N, 3, H, W] -> the images over their sizes, which a tensor holds."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        height, width = images.shape[-2:]
        sizes = self.function([[height, width], [1, 2]], dtype=torch.float32)
        return (images / (sizes[0, 0] * sizes[0, 1] + sizes[1].sum()),)


class OnALine(nn.Module):
    """images [N, 3, H, W] -> plus the places of the rows, from edge to edge."""

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        height = images.shape[2]
        rows = torch.linspace(0.5, height - 0.5, height, dtype=images.dtype)
        return (images + rows[:, None] / height,)


@pytest.mark.parametrize("function", [torch.as_tensor, torch.tensor])
def test_a_tensor_of_sizes_is_computed_in_the_graph(function: Any, tmp_path: Path) -> None:
    name = f"torch.{function.__name__}"

    class Module(OfSizes):
        def __init__(self) -> None:
            super().__init__(lambda data, dtype: getattr(torch, function.__name__)(data, dtype=dtype))

    record = export(Module().eval(), dynamic(), tmp_path / "ours.onnx", SPECS)
    assert name in {fired.name for fired in record.rewriters}
    for height, width in ((16, 24), (33, 7)):
        images = torch.rand(2, 3, height, width)
        expected = Module()(images)[0].numpy()
        np.testing.assert_allclose(run(tmp_path / "ours.onnx", images)[0], expected, rtol=1e-6)
    with without_rewriter(name), pytest.raises(ExportError, match="height"):
        export(Module().eval(), dynamic(), tmp_path / "plain.onnx", SPECS)


def test_linspace_has_torchs_numbers_for_one_row_and_for_many(tmp_path: Path) -> None:
    record = export(OnALine().eval(), dynamic(), tmp_path / "ours.onnx", SPECS)
    assert "torch.linspace" in {fired.name for fired in record.rewriters}
    for height in (1, 2, 3, 16, 57):
        images = torch.rand(1, 3, height, 24)
        got = run(tmp_path / "ours.onnx", images)[0]
        np.testing.assert_allclose(got, OnALine()(images)[0].numpy(), rtol=1e-6)
    with without_rewriter("torch.linspace"):
        export(OnALine().eval(), dynamic(), tmp_path / "plain.onnx", SPECS)
    assert np.isnan(run(tmp_path / "plain.onnx", torch.rand(1, 3, 1, 24))[0]).any()  # rule 6, seen with torch 2.15


@pytest.mark.slow
def test_linspace_of_a_size_is_not_frozen_by_dynamo(tmp_path: Path) -> None:
    target = dynamic().with_(exporter="dynamo", height=AxisRange(2, 16, 60))
    record = export(OnALine().eval(), target, tmp_path / "ours.onnx", SPECS)
    assert "torch.linspace" in {fired.name for fired in record.rewriters}
    for height in (2, 3, 16, 57):
        images = torch.rand(1, 3, height, 24)
        got = run(tmp_path / "ours.onnx", images)[0]
        np.testing.assert_allclose(got, OnALine()(images)[0].numpy(), rtol=1e-6)
    with without_rewriter("torch.linspace"), pytest.raises(ExportError, match="height"):
        export(OnALine().eval(), target, tmp_path / "plain.onnx", SPECS)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("start", "end"), [(0.0, 5.0), (-3.5, 2.25), (1.0, 1.0)])
def test_linspace_is_torchs_own(start: float, end: float, dtype: torch.dtype) -> None:
    with rewriting(dynamic(), eager=True) as session:
        for steps in (1, 2, 5, 8):
            got = torch.linspace(start, end, torch.tensor(steps), dtype=dtype)  # type: ignore[call-overload]
            torch.testing.assert_close(got, torch.linspace(start, end, steps, dtype=dtype), rtol=1e-6, atol=1e-6)
        assert session.hits["torch.linspace"] >= len((1, 2, 5, 8))


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([torch.tensor(3), 4], None),
        ([[torch.tensor(3), torch.tensor(4)], [1, 2]], torch.float32),
        ([torch.tensor(0.5), 1], None),
        ((torch.tensor(True), False), None),
        ([torch.tensor(1, dtype=torch.int32), torch.tensor(2, dtype=torch.int32)], None),
        ([torch.tensor(0.5, dtype=torch.float64), 1], None),
        ([torch.tensor(0.5, dtype=torch.float16), 1.5], None),
        ([torch.tensor(2), 0.5], None),
    ],
)
def test_values_and_dtypes_are_torchs(data: Any, dtype: torch.dtype | None) -> None:
    expected = torch.tensor(data, dtype=dtype)
    with rewriting(dynamic(), eager=True) as session:
        got = torch.tensor(data, dtype=dtype)
        assert session.hits["torch.tensor"] == 1
        same = torch.tensor([1, 2.5, 3])
        assert session.hits["torch.tensor"] == 1  # of plain numbers torch's own
    assert got.dtype == expected.dtype
    assert torch.equal(got, expected)
    assert torch.equal(same, torch.tensor([1, 2.5, 3]))


def test_arguments_that_the_rewriters_do_not_know_are_torchs_own() -> None:
    size = torch.tensor(3)
    with rewriting(fixed_target(16, 24, exporter="torchscript"), eager=True):
        assert torch.tensor([size, size], pin_memory=False).tolist() == [3, 3]
        assert torch.linspace(0, 1, 1, out=torch.empty(1)).tolist() == [0]
