"""The outputs of a graph beside PyTorch's: what is the same for all tasks. Each task has its own rule of comparison."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from pipeline.parity.plugin_candidates import final_detections
from zoo.comparison import Findings
from zoo.comparison.decision_rule import DecisionRule
from zoo.families import find_layout, layout_of
from zoo.target import DEFAULT_LAYOUT
from zoo.tasks import Task
from zoo.tasks.proof import proof_of

Array = NDArray[Any]
Arrays = Mapping[str, Array]


def compare_outputs(
    task: Task,
    level: str,
    reference: Arrays,
    candidate: Arrays,
    gates: Mapping[str, float],
    rule: DecisionRule,
    logits: Any = None,
) -> Findings:
    """Outputs of one batch by name, of PyTorch and of a backend, both of the contract of task and level.

    ``logits``: see TaskProof.logits. A tensor that one side lacks is a failure.
    """
    if level == "plugin":
        candidate = final_detections(candidate, rule)
    if (name := layout_of(reference)) != DEFAULT_LAYOUT and reference.keys() == candidate.keys():
        reference, candidate = (find_layout(name).level_outputs(side) for side in (reference, candidate))
    missing, unknown = reference.keys() - candidate.keys(), candidate.keys() - reference.keys()
    if missing or unknown:
        names = ", ".join(sorted(missing | unknown))
        return Findings.broken((f"outputs {names}: only {'PyTorch' if missing else 'the backend'} has them",))
    return proof_of(task).compare_outputs(level, reference, candidate, gates, rule, logits)
