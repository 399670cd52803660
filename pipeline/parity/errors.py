"""The error of a missed gate, with what the miss means: where to look."""

from collections.abc import Mapping

from pipeline.parity.records import END_TO_END, INPUT, MEAN_INPUT, SAME_INPUT, TOGETHER, WAY_BACK, ParityRecord
from zoo.errors import GateError

GRAPH = "the exported graph differs from the PyTorch model on the same tensors"
PREPROCESSING = (
    "the deployment prepares the image differently from the config's preprocess (colours, resize or padding)"
)
ENGINE = "PyTorch gives another result for the same input tensor: check the engine, or the mapping back to the image"
BACK = "the deployment maps boxes differently from the tensor to the image: check scale, padding and clipping"
BEYOND_ROUNDING = (
    "input and engine pass their own gates, but more changes than the rounding of the input explains in this model"
)
BATCH = "several inputs at once give another result than each input alone: check their order, and the batch"
UNSTEADY = (
    "the PyTorch model itself gives another answer to the same input each time, which nothing can equal: it is random "
    "(dropout that does not go by self.training, torch.rand), or it changes its input or itself"
)
MANIFEST = "the manifest of the deployment differs from the config"
CONSTANT = "the exported graph uses another number than the PyTorch model, even if no image shows it"
PIPELINE: Mapping[str, str] = {
    INPUT: PREPROCESSING,
    MEAN_INPUT: PREPROCESSING,
    "images": PREPROCESSING,
    WAY_BACK: BACK,
    SAME_INPUT: ENGINE,
    END_TO_END: BEYOND_ROUNDING,
    TOGETHER: BATCH,
}


def meaning(record: ParityRecord) -> str | None:
    """Of the first of the record's failures. None where nothing was compared, or the metric decided."""
    if record.metric is not None:
        return None
    if any(not constant.passed for constant in record.constants):
        return CONSTANT
    for case in record.cases:
        for failure in case.findings.failures:
            return GRAPH if case.kind == "graph" else PIPELINE.get(failure.split(":")[0])
    return MANIFEST if record.manifest else None


class ParityMissedError(GateError):
    """Parity failed and nothing was published; ``record`` says how, ``data`` the same for --json.

    ``steady``: whether the PyTorch model equals itself where it runs again.
    """

    def __init__(self, record: ParityRecord, *, steady: bool = True) -> None:
        more = f" (and {n} more)" if (n := len(record.failures) - 1) else ""
        means = f": {reason}" if (reason := meaning(record) if steady else UNSTEADY) else ""
        super().__init__(
            f"{record.failures[0]}{more}{means}; nothing was published. zooport align names the first module that "
            "differs; --allow-parity-failure publishes it anyway, and the manifest records this"
        )
        self.record = record
        self.data = {"deployment": None, "parity": record.to_dict()}
