"""The file must load in ONNX Runtime: exporters write files that it refuses."""

import onnxruntime

from zoo.errors import ExportError


def check_onnxruntime_loads(content: bytes) -> None:
    """Raises ExportError with ONNX Runtime's reason."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises classes of its own, all of them direct children of Exception
        raise ExportError(f"ONNX Runtime {onnxruntime.__version__} refuses the exported graph: {error}") from error
