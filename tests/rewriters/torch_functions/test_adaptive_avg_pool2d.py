"""adaptive_avg_pool2d as products: the original's numbers, for any size, through both exporters."""

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

from rewriters import rewriting
from rewriters.torch_functions.adaptive_avg_pool2d import pooling_matrix
from tests.examples import examples
from tests.exporters import DYNAMO_LATER
from tests.rewriters.small_models import export, fixed_target, run, without_rewriter
from zoo.errors import ExportError
from zoo.target import AxisRange, Target
from zoo.tensor_spec import TensorSpec

NAME = "torch.nn.functional.adaptive_avg_pool2d"
CELLS = (3, 6)
SPECS = [TensorSpec("pooled", "float32", ("batch", 3, *CELLS))]


class Pooled(nn.Module):
    """images [N, 3, H, W] -> [N, 3, *cells]."""

    def __init__(self, cells: Any = CELLS) -> None:
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(cells)

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        return (self.pool(images),)


def dynamic(exporter: str) -> Target:
    target = fixed_target(16, 24, exporter=exporter)
    return target.with_(height=AxisRange(2, 16, 60), width=AxisRange(2, 24, 60))


@pytest.mark.parametrize("fixed", [True, False])
def test_the_originals_means(fixed: bool) -> None:
    """More cells than elements, too, where cells overlap."""
    original = F.adaptive_avg_pool2d
    target = fixed_target(16, 24, exporter="torchscript") if fixed else dynamic("torchscript")
    sides, cells = st.integers(1, 70), st.one_of(st.none(), st.integers(1, 9))
    with rewriting(target, eager=True) as session:

        @examples(25, 100)
        @given(height=sides, width=sides, rows=cells, columns=cells, count=st.integers(1, 3))
        def check(height: int, width: int, rows: int | None, columns: int | None, count: int) -> None:
            x = torch.randn(count, 2, height, width, generator=torch.Generator().manual_seed(height * width))
            hits = session.hits[NAME]
            got = F.adaptive_avg_pool2d(x, (rows, columns))
            assert session.hits[NAME] - hits == ((rows, columns) != (1, 1))
            # of values around 1, summed in another order
            torch.testing.assert_close(got, original(x, (rows, columns)), atol=2e-6, rtol=0)

        check()


@examples(12, 50)
@given(size=st.integers(1, 2000), cells=st.integers(1, 40))
def test_the_cells_are_torchs(size: int, cells: int) -> None:
    matrix = pooling_matrix(size, cells, torch.float64)
    for i in range(cells):
        start, end = i * size // cells, -(-(i + 1) * size // cells)
        assert matrix[i, start:end].eq(1 / (end - start)).all()
        assert matrix[i].count_nonzero() == end - start


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
@pytest.mark.parametrize("cells", [CELLS, 5])
def test_any_size_in_onnxruntime(cells: Any, exporter: str, tmp_path: Path) -> None:
    path, module = tmp_path / "m.onnx", Pooled(cells).eval()
    rows, columns = cells if isinstance(cells, tuple) else (cells, cells)
    specs = [TensorSpec("pooled", "float32", ("batch", 3, rows, columns))]
    record = export(module, dynamic(exporter), path, specs, required_rewriters=[NAME])
    assert NAME in {rewriter.name for rewriter in record.rewriters}
    for count, height, width in ((1, 16, 24), (3, 17, 31), (2, 60, 59), (1, 2, 3)):
        images = torch.rand(count, 3, height, width)
        np.testing.assert_allclose(run(path, images)[0], module(images)[0].numpy(), atol=1e-6)


@pytest.mark.parametrize(
    ("cells", "size", "operator"),
    [
        (1, (15, 23), "GlobalAveragePool"),
        (CELLS, (15, 24), "AveragePool"),
        ((None, 6), (15, 24), "AveragePool"),
        (CELLS, (16, 24), "MatMul"),
    ],
)
def test_cells_of_a_fixed_size(cells: Any, size: tuple[int, int], operator: str, tmp_path: Path) -> None:
    """Products are for those that overlap."""
    path, module = tmp_path / "m.onnx", Pooled(cells).eval()
    images = torch.rand(3, 3, *size)
    expected = module(images)[0].numpy()
    specs = [TensorSpec("pooled", "float32", ("batch", *expected.shape[1:]))]
    export(module, fixed_target(*size, exporter="torchscript"), path, specs)
    assert {node.op_type for node in onnx.load(path).graph.node} - {"Constant"} == {operator}
    np.testing.assert_allclose(run(path, images)[0], expected, atol=1e-6)


@pytest.mark.parametrize("sizes", ["fixed", "dynamic"])
def test_needed_without_it_torchscript_refuses(sizes: str, tmp_path: Path) -> None:
    """Rule 6. Seen with torch 2.15: cells that do not divide the size, and any cells of a dynamic size."""
    target = fixed_target(16, 24, exporter="torchscript") if sizes == "fixed" else dynamic("torchscript")
    with without_rewriter(NAME), pytest.raises(ExportError, match="export of operator adaptive_avg_pool2d"):
        export(Pooled().eval(), target, tmp_path / "m.onnx", SPECS)


@pytest.mark.slow
def test_needed_without_it_dynamos_graph_fails_at_another_size(tmp_path: Path) -> None:
    """Rule 6. Seen with torch 2.15 and ONNX Runtime 1.31: the largest cell is frozen, or an index is out of bounds."""
    path, module = tmp_path / "m.onnx", Pooled().eval()
    with without_rewriter(NAME):
        export(module, dynamic("dynamo"), path, SPECS, other_sizes=False)
    wrong = 0
    for height, width in ((17, 31), (60, 59), (2, 3)):
        images = torch.rand(2, 3, height, width)
        try:
            (got,) = run(path, images)
        except Exception as error:  # noqa: BLE001  # ONNX Runtime's own classes
            assert "index" in str(error) or "indices" in str(error)  # noqa: PT017
            wrong += 1
        else:
            wrong += not np.allclose(got, module(images)[0].numpy(), atol=1e-3)
    assert wrong
