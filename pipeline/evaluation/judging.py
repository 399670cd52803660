"""The verdict on a deployment's row of an evaluation."""

import math
from dataclasses import replace

from pipeline.evaluation.bootstrap import PairedBootstrap
from pipeline.evaluation.plan import Plan
from pipeline.evaluation.records import MISSED, PASSED, Row
from pipeline.evaluation.run_dataset import Judged
from pipeline.parity.gates import merged_gates, metric_gate
from zoo.errors import InputError
from zoo.metrics import Metric
from zoo.notices import notice


def judged_row(
    row: Row, plan: Plan, metric: Metric, judged: Judged, reference: Judged, bootstrap: PairedBootstrap | None
) -> Row:
    """A deployment's row, judged by the config's gate for its precision, with the interval of the difference.

    Raises InputError where the figure is not a number; gives notice where it is 0 on both sides.
    """
    gates = merged_gates(plan.config.gates, row.precision, own=plan.task.own_gates)
    gate = metric_gate(gates, metric.unit)
    difference = judged.figures[metric.main_key] - reference.figures[metric.main_key]
    if math.isnan(difference):
        inputs = plan.task.kind.plural
        raise InputError(
            f"{metric.main_key} is not a number: there is nothing to judge in {len(plan.dataset)} {inputs}; "
            f"give more {inputs}, or a data set with ground truth"
        )
    if judged.figures[metric.main_key] == reference.figures[metric.main_key] == 0:
        notice(
            f"{metric.main_key} of PyTorch itself is 0 on {len(plan.dataset)} {plan.task.kind.plural}, so its gate "
            "compares nothing; give a larger --limit, other weights, or correct the classes' category_id"
        )
    interval = None if bootstrap is None else bootstrap.interval(judged.per_image)
    verdict = PASSED if abs(difference) <= gate else MISSED
    return replace(row, difference=difference, interval=interval, gate=gate, verdict=verdict)
