"""The CUDA provider, for real: runs only where a CUDA device and ONNX Runtime's GPU build are."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from backends import load
from backends.onnxruntime.runner import OnnxRuntimeRunner
from backends.self_test.proof import warn_once
from pipeline.alignment.engines import piece_opener
from zoo.target import AxisRange, Target

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        "CUDAExecutionProvider" not in onnxruntime.get_available_providers(),
        reason="no CUDA provider: needs a CUDA device and the package onnxruntime-gpu",
    ),
]


def test_cuda_gives_what_the_cpu_gives(detector: Path, segmentor: Path, images: list[np.ndarray]) -> None:
    bright = images[2::2]  # the small detector finds more the brighter they are
    for folder in (detector, segmentor):
        with load(folder, provider="cuda") as on_gpu, load(folder, provider="cpu") as on_cpu:
            assert on_gpu.runner.provider == "CUDAExecutionProvider"
            outputs = [model.runner.run({"images": model.preprocess(bright)[0]}) for model in (on_gpu, on_cpu)]
        for name, expected in outputs[1].items():
            assert len(np.unique(expected)) > 1, f"{name}: one value everywhere could not be wrong"
            np.testing.assert_allclose(outputs[0][name], expected, atol=1e-4, err_msg=name)


def test_alignment_runs_pieces_on_the_device(tmp_path: Path) -> None:
    """The CPU would give the same numbers: that CUDA ran is what its own options show."""
    text = "agraph (float[N, 3] x) => (float[N, 3] y) { y = Add (x, x) }"
    graph = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 20]> {text}')
    (tmp_path / "m.onnx").write_bytes(graph.SerializeToString())
    with piece_opener(Target({"batch": AxisRange(1, 2, 4)}, device="cuda"))(tmp_path / "m.onnx") as runner:
        assert runner.provider == "CUDAExecutionProvider"
        np.testing.assert_array_equal(runner.run({"x": np.ones((2, 3), np.float32)})["y"], np.full((2, 3), 2))


@pytest.mark.parametrize(("operator", "named"), [("Atan", True), ("Sin", False)])
def test_nodes_that_are_left_on_the_cpu_are_named(
    operator: str, named: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Of ONNX Runtime 1.31 on CUDA: Atan has no kernel, and Sin has one."""
    text = f"agraph (float[N, 3] x) => (float[N, 3] y) {{ r = Relu (x) y = {operator} (r) }}"
    graph = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 20]> {text}')
    (tmp_path / "m.onnx").write_bytes(graph.SerializeToString())
    warn_once.cache_clear()
    OnnxRuntimeRunner(tmp_path / "m.onnx", provider="cuda").close()
    assert any(operator in record.message for record in caplog.records) == named
