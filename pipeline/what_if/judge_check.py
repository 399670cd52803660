"""Whether there is something to judge by; known without torch, before the long work."""

from collections.abc import Sequence
from pathlib import Path

from zoo.config import ModelConfig, config_target
from zoo.errors import InputError


def check_judge(kind: str, config: ModelConfig, given: Sequence[str | Path], tolerance: float | None) -> None:
    """Raises InputError where there is nothing to judge by; known before the long work."""
    target = config_target(config)
    if not target.has_results:
        raise InputError(f"config {config.path}: output level {target.level} has no results to judge; expected final")
    if kind == "matched" and tolerance is None:
        raise InputError("matched results have no gate; give --tolerance, how many points of 100 may be lost")
    if kind == "metric" and given:
        raise InputError(
            f"{config.task.kind.plural} of your own have no ground truth for a metric; leave them out, or give "
            "--judge matched"
        )
    if not given and config.dataset is None and config.gate_dataset is None:
        raise InputError(f"config {config.path}: no dataset to judge on; add one, or give --judge matched --image")
    if kind == "metric" and config.evaluator is None:
        raise InputError(f"config {config.path}: no evaluator to judge by; add one, or give --judge matched")
