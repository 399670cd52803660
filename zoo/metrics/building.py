"""Building a metric from a config's section."""

from collections.abc import Mapping
from typing import Any

from zoo.arguments import building, wrong_arguments
from zoo.errors import InputError
from zoo.metrics.metric import Metric
from zoo.registry import METRICS, registered_class


def build_metric(section: Mapping[str, Any]) -> Metric:
    """From `dict(type="MeanIoU", num_classes=11)`.

    Raises InputError for an unknown type or argument (naming the nearest), and one that is missing or wrong.
    """
    options = dict(section)
    kind = options.pop("type", None)
    made_of = registered_class(METRICS, Metric, "evaluator", kind)
    faults = list(wrong_arguments(made_of, options))
    if faults:
        raise InputError(f"evaluator {kind} cannot be built from its config: {'; '.join(faults)}")
    with building(f"evaluator {kind}"):
        metric: Metric = made_of(**options)
    return metric
