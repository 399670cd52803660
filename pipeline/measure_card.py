"""Measuring a config of the zoo for its card."""

import platform
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from backends.registry import backends
from pipeline.base.machine import processor, threads
from pipeline.base.steps import BeginStep
from pipeline.evaluating import evaluate
from pipeline.export.manifest import model_libraries, versions
from zoo.build import build_model
from zoo.cards import BackendFigures, Measured, checkpoint_sha256, fingerprint
from zoo.config import load_config
from zoo.cost import model_cost
from zoo.errors import GateError, InputError
from zoo.progress import Progress


def measure_card(path: str | Path, progress: Progress | None = None, steps: BeginStep | None = None) -> Measured:
    """The cost of a config's model, and its metric on PyTorch and on each installed backend for the CPU.

    The deployments are made for this. `progress` is called with (name, images done, images in all), `steps` with the
    steps of the deploy. Raises GateError where a backend misses its gate, InputError where the config has no card,
    evaluator or data set, and what deploying and evaluating raise.
    """
    config = load_config(path)
    for key, section, content in (
        ("card", config.card, "what=..., paper=..., licence=..."),
        ("evaluator", config.evaluator, "type=..."),
    ):
        if section is None:
            raise InputError(f"config {path} has no {key}; add {key}=dict({content})")
    cost = model_cost(config)
    with TemporaryDirectory() as work_dir:  # an older deployment may be of older code
        evaluation = evaluate(config, _backends(), work_dir=work_dir, progress=progress, steps=steps)
    if evaluation.missed:
        rows = ", ".join(f"{row.name} ({row.difference:+.2f}, gate {row.gate})" for row in evaluation.missed)
        raise GateError(
            f"config {path}: {evaluation.metric} differs from PyTorch's on {rows}; nothing was written; "
            f"zooport evaluate {path} shows all figures"
        )
    measured = evaluation.to_dict()
    return Measured(
        fingerprint=fingerprint(config),
        checkpoint_sha256=checkpoint_sha256(config),
        **cost._asdict(),
        images=measured["dataset"]["images"],
        metric=measured["metric"],
        unit=measured["unit"],
        rows=tuple(BackendFigures.from_dict(row) for row in measured["rows"]),
        machine={
            "processor": processor(),
            "threads": threads(),
            "python": platform.python_version(),
            "versions": versions() | model_libraries(build_model(config)),
        },
        date=datetime.now(UTC).date().isoformat(),
    )


def _backends() -> list[str]:
    return [name for name, backend in backends().items() if backend.is_on_cpu(None) and backend.lack() is None]
