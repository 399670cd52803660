"""Custom nodes in ONNX Runtime, by onnxruntime-extensions and the kernels in Python, in a process of their own.

An exception in such a kernel ends the process that runs it (onnxruntime-extensions 0.15), so that is not this one.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from rewriters.symbolic.kernels import kernels_of
from zoo.errors import BackendUnavailableError, ExportError

LIMIT = 300  # seconds


def run_with_extensions(model: onnx.ModelProto, feed: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
    """The outputs of a model with custom nodes, run by ONNX Runtime.

    The kernels' modules are imported there again. Raises BackendUnavailableError where onnxruntime-extensions is not
    installed, ExportError with the reason where a kernel or ONNX Runtime fails.
    """
    if find_spec("onnxruntime_extensions") is None:
        raise BackendUnavailableError("custom nodes in ONNX Runtime need a library; install onnxruntime-extensions")
    modules = sorted({kernel.function.__module__ for kernel in kernels_of(model).values()})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        onnx.save_model(model, folder / "model.onnx")
        np.savez(folder / "inputs.npz", allow_pickle=False, **feed)
        done = subprocess.run(  # noqa: S603  # this Python, our module
            [sys.executable, "-m", "rewriters.symbolic.extensions_process", name, *modules],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        if done.returncode:
            words = next((line for line in reversed(done.stderr.splitlines()) if "Error" in line), "no reason given")
            raise ExportError(f"ONNX Runtime with onnxruntime-extensions failed ({done.returncode}): {words.strip()}")
        with np.load(folder / "outputs.npz", allow_pickle=False) as outputs:
            return [outputs[f"arr_{index}"] for index in range(len(outputs.files))]
