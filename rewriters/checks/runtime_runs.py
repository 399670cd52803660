"""The file must load in ONNX Runtime, which refuses some of what the exporters write, and give the declared shapes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewriters.onnx_graph.graph_outputs import run_once
from zoo.errors import ExportError
from zoo.tensor_spec import TensorSpec


def check_runs(content: bytes, example: Mapping[str, NDArray[Any]], output_specs: Sequence[TensorSpec]) -> None:
    """Run the example once, without optimisations. Raises ExportError with ONNX Runtime's reason, or for a shape."""
    outputs = run_once(content, example, [spec.name for spec in output_specs])
    for spec, output in zip(output_specs, map(np.asarray, outputs), strict=True):
        sizes = zip(spec.shape, output.shape, strict=False)
        if len(spec.shape) != output.ndim or any(isinstance(want, int) and want != got for want, got in sizes):
            raise ExportError(
                f"output {spec.name} has the shape {list(output.shape)} in ONNX Runtime, "
                f"the contract asks for {list(spec.shape)}"
            )
