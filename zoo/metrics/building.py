"""Building a metric from a config's section."""

import inspect
from collections.abc import Mapping
from typing import Any

from zoo.arguments import wrong_arguments
from zoo.errors import InputError, nearest
from zoo.metrics.metric import Metric
from zoo.registry import METRICS


def build_metric(section: Mapping[str, Any]) -> Metric:
    """From `dict(type="MeanIoU", num_classes=11)`.

    Raises InputError for an unknown type or argument (naming the nearest), and one that is missing or wrong.
    """
    options = dict(section)
    kind = options.pop("type", None)
    known = {
        name: made for name, made in METRICS.module_dict.items() if inspect.isclass(made) and issubclass(made, Metric)
    }
    if kind not in known:
        raise InputError(f'unknown evaluator type "{kind}"; {nearest(str(kind), known)}')
    faults = list(wrong_arguments(known[kind], options))
    if faults:
        raise InputError(f"evaluator {kind} cannot be built from its config: {'; '.join(faults)}")
    metric: Metric = known[kind](**options)
    return metric
