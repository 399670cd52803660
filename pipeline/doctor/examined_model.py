"""A model that is ready to be examined."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from pipeline.doctor.example import Trial
from zoo.target import Target


@dataclass(frozen=True)
class ExaminedModel:
    """A module in eval mode, the inputs to try it with (the example first), and the axes that vary: {input: {0: "N"}}.

    `target`: for the rewriters; its opset is that of a config, or the default. `options`: of rewriters, by their names.
    """

    module: nn.Module
    trials: Sequence[Trial]
    axes: Mapping[str, Mapping[int, str]]
    target: Target
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
