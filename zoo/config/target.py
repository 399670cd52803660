"""The target that a config asks for by itself."""

from typing import Any

from zoo.config.model_config import ModelConfig
from zoo.precision_options import PrecisionOptions
from zoo.target import DEFAULT_SIDES, AxisRange, Target


def config_target(config: ModelConfig, precision: str = "fp32") -> Target:
    """The config's own exporter, opset, level, inputs, sliding windows and engine.

    Height and width are the preprocessing's size, or `export.inputs` where that gives a range. `precision` decides
    which of the options in `export.precision` hold. Raises InputError.
    """
    export, size = config.export, config.preprocess.size
    inputs = export.inputs
    fields: dict[str, Any] = {"image_sizes": inputs.image_sizes, "thresholds": inputs.thresholds}
    if inputs.batch is not None:
        fields["batch"] = inputs.batch
    for index, axis in enumerate(("height", "width")):
        default_range = (
            AxisRange(DEFAULT_SIDES[0], 512, DEFAULT_SIDES[1]) if size is None else AxisRange.fixed(size[index])
        )
        fields[axis] = getattr(inputs, axis) or default_range
    return Target(
        **fields,
        **export.target,
        precision=precision,
        precision_options=export.precision.get(precision, PrecisionOptions()),
        engine=export.engine,
    )
