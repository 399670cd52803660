"""The target that a config asks for by itself."""

from zoo.config.model_config import ModelConfig
from zoo.precision_options import PrecisionOptions
from zoo.target import Target


def config_target(config: ModelConfig, precision: str = "fp32") -> Target:
    """The config's own exporter, opset, level, inputs and sliding windows; its backend reads the options of engines.

    Each axis has the range in `export.inputs`, or else the one that follows from the preprocessing. `precision` decides
    which of the options in `export.precision` hold. Raises InputError.
    """
    export, inputs = config.export, config.export.inputs
    return Target(
        {**config.task.kind.sides(config.preprocess), **inputs.axes},
        image_sizes=inputs.image_sizes,
        thresholds=inputs.thresholds,
        **export.target,
        precision=precision,
        precision_options=export.precision.get(precision, PrecisionOptions()),
    )
