"""python -m rewriters.symbolic.extensions_process FOLDER MODULE ...: the process that extensions.py starts.

FOLDER holds model.onnx, inputs.json with the names, and input_0.npy and so on; it gets output_0.npy and so on. The
modules declare the kernels.
"""

import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import onnx

from rewriters.onnx_graph.graph_outputs import run_once
from rewriters.symbolic.kernels import Kernel, kernels_of

NAMES = {"float32": "float", "float64": "double"}  # as the library calls them


def main(path: str, *modules: str) -> None:
    """Run the model once."""
    from onnxruntime_extensions import get_library_path

    for module in modules:
        import_module(module)
    folder = Path(path)
    model = onnx.load_model(folder / "model.onnx")
    for kernel in kernels_of(model).values():
        _register(kernel)
    names = json.loads((folder / "inputs.json").read_text())
    feed = {name: np.load(folder / f"input_{number}.npy", allow_pickle=False) for number, name in enumerate(names)}
    outputs = run_once(model.SerializeToString(), feed, libraries=[get_library_path()])
    for number, value in enumerate(outputs):
        np.save(folder / f"output_{number}.npy", value, allow_pickle=False)


def _register(kernel: Kernel) -> None:
    from onnxruntime_extensions import PyOp, onnx_op

    def kind(dtype: str) -> int:
        number: int = getattr(PyOp, f"dt_{NAMES.get(dtype, dtype)}")
        return number

    onnx_op(
        op_type=kernel.name,
        inputs=[kind(dtype) for dtype in kernel.inputs],
        outputs=[kind(kernel.output)],
        attrs={name: kind(dtype) for name, dtype in kernel.attributes.items()},
    )(kernel.function)


if __name__ == "__main__":
    main(*sys.argv[1:])
