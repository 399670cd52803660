"""Custom nodes in ONNX Runtime, by onnxruntime-extensions and the kernels in Python, in a process of their own.

An exception in such a kernel ends the process that runs it (onnxruntime-extensions 0.15), so that is not this one.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
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
    installed, ExportError with the reason where a kernel or ONNX Runtime fails or does not end.
    """
    if find_spec("onnxruntime_extensions") is None:
        raise BackendUnavailableError("custom nodes in ONNX Runtime need a library; install onnxruntime-extensions")
    modules = sorted({kernel.function.__module__ for kernel in kernels_of(model).values()})
    if "__main__" in modules:
        names = ", ".join(name for name, one in kernels_of(model).items() if one.function.__module__ == "__main__")
        raise ExportError(
            f"the kernel of {names} is declared in the script that runs, which another process cannot import; "
            "put it in a module"
        )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        onnx.save_model(model, folder / "model.onnx")
        for number, value in enumerate(feed.values()):  # by number: a name need not be one of a file
            np.save(folder / f"input_{number}.npy", value, allow_pickle=False)
        (folder / "inputs.json").write_text(json.dumps(list(feed)))
        ended = _run(name, modules)
        if ended.returncode:
            words = next((line for line in reversed(ended.stderr.splitlines()) if "Error" in line), "no reason given")
            raise ExportError(f"ONNX Runtime with onnxruntime-extensions failed ({ended.returncode}): {words.strip()}")
        count = len(model.graph.output)
        return [np.load(folder / f"output_{number}.npy", allow_pickle=False) for number in range(count)]


def _run(folder: str, modules: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(  # noqa: S603  # this Python, our module
            [sys.executable, "-P", "-m", "rewriters.symbolic.extensions_process", folder, *modules],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
    except subprocess.TimeoutExpired as error:
        raise ExportError(f"ONNX Runtime with onnxruntime-extensions did not end within {LIMIT} s") from error
