"""The arguments of an evaluation, checked without torch, before the long work."""

from collections.abc import Sequence
from pathlib import Path

from pipeline.base.device import check_device
from pipeline.job.paths_check import check_present
from zoo.errors import InputError
from zoo.target import check_choices

REFERENCE_BACKEND = "pytorch"
LAUNCHERS = ("none", "pytorch")


def check_arguments(
    backends: Sequence[str],
    deployments: Sequence[str | Path],
    *,
    checkpoint: str | Path | None,
    precision: str | None,
    launcher: str,
    device: str | None,
    limit: int | None,
    batch_size: int,
) -> None:
    """As `evaluate` takes them. Raises InputError."""
    for backend in backends:
        check_choices(backend=backend)
    check_choices(precision=precision)
    if precision is not None and not set(backends) - {REFERENCE_BACKEND}:
        raise InputError(f"--precision {precision}: no backend to deploy for; give --backend onnxruntime, too")
    if launcher not in LAUNCHERS:
        raise InputError(f'--launcher "{launcher}": expected one of {", ".join(LAUNCHERS)}')
    check_device(device or "cpu")
    if batch_size < 1:
        raise InputError(f"--batch-size {batch_size}: expected 1 or more")
    if limit is not None and limit < 1:
        raise InputError(f"--limit {limit}: expected 1 or more images")
    check_present("--deployment", deployments, "folder")
    check_present("checkpoint", [checkpoint])
