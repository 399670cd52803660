"""The steps of a deploy by name, for those who show progress. Light: a tool can show them before torch is loaded."""

from collections.abc import Callable

from backends.registry import get_backend

CHECK = "check the input"
BUILD = "build the PyTorch model"
REFERENCE = "run the PyTorch reference"
EXPORT = "export to ONNX"
PRECISION = "bring the graph to its precision"
ENGINE = "build the engine"
GRAPH = "compare the graph"
PIPELINE = "compare the pipeline"
METRIC = "judge by the metric"
MEASURE = "measure modules and latency"
REPORT = "draw previews and report"
PUBLISH = "publish"
BeginStep = Callable[[str], None]
"""Called with each step as it begins, and within a long one with how far it is, which is no step's name."""


def deploy_steps(backend: str, precision: str) -> tuple[str, ...]:
    """Those of a deploy for this backend and precision, in order."""
    lower, engine = precision != "fp32", bool(get_backend(backend).files)
    return (
        *(CHECK, BUILD, REFERENCE, EXPORT),
        *((PRECISION,) if lower else ()),
        *((ENGINE,) if engine else ()),
        *(GRAPH, PIPELINE),
        *((METRIC,) if lower else ()),
        *(MEASURE, REPORT, PUBLISH),
    )


def unseen(step: str) -> None:
    """Nobody looks at the progress."""
