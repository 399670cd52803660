"""The CUDA provider, for real: runs only where a CUDA device and ONNX Runtime's GPU build are."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from backends import load

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
