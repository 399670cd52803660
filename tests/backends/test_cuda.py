"""The CUDA provider, for real: runs only where a CUDA device and ONNX Runtime's GPU build are."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from backends import load
from backends.onnxruntime.runner import OnnxRuntimeRunner
from backends.self_test.proof import warn_once

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        "CUDAExecutionProvider" not in onnxruntime.get_available_providers(),
        reason="no CUDA provider: needs a CUDA device and the package onnxruntime-gpu",
    ),
]


def test_cuda_gives_what_the_cpu_gives(detector: Path, segmentor: Path, images: list[np.ndarray]) -> None:
    for folder in (detector, segmentor):
        with load(folder, provider="cuda") as on_gpu, load(folder, provider="cpu") as on_cpu:
            outputs = [model.runner.run({"images": model.preprocess(images[:1])[0]}) for model in (on_gpu, on_cpu)]
        for name, expected in outputs[1].items():
            np.testing.assert_allclose(outputs[0][name], expected, atol=1e-4, err_msg=name)


@pytest.mark.parametrize(("opset", "named"), [(20, True), (18, False)])
def test_nodes_that_are_left_on_the_cpu_are_named(
    opset: int, named: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """GridSample-20 has no kernel of CUDA, and GridSample-16 has one."""
    inputs, outputs = "float[1, 3, 8, 8] x, float[1, 8, 8, 2] g", "float[1, 3, 8, 8] y"
    text = f"agraph ({inputs}) => ({outputs}) {{ r = Relu (x) y = GridSample (r, g) }}"
    graph = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> {text}')
    (tmp_path / "m.onnx").write_bytes(graph.SerializeToString())
    warn_once.cache_clear()
    OnnxRuntimeRunner(tmp_path / "m.onnx", provider="cuda").close()
    assert any("GridSample" in record.message for record in caplog.records) == named
