"""The steps of a deploy by name, for those who show progress. Light: a tool can show them before torch is loaded."""

from collections.abc import Callable

STEPS = (
    "check the input",
    "build the PyTorch model",
    "run the PyTorch reference",
    "export to ONNX",
    "compare the graph",
    "compare the pipeline",
    "draw previews and report",
    "publish",
)
Progress = Callable[[str], None]
