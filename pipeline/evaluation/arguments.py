"""The arguments of an evaluation, checked without torch, before the long work."""

from collections.abc import Sequence
from pathlib import Path

from backends.registry import get_backend
from pipeline.job.paths_check import check_present
from zoo.errors import InputError
from zoo.target import DEFAULT_BACKEND, REFERENCE_BACKEND, check_choices

LAUNCHERS = ("none", "pytorch")


def check_arguments(
    backends: Sequence[str],
    deployments: Sequence[str | Path],
    *,
    checkpoint: str | Path | None,
    precision: str | None,
    launcher: str,
    limit: int | None,
    batch_size: int,
) -> None:
    """As `evaluate` takes them. Raises InputError."""
    check_choices(precision=precision)
    if precision is not None and not set(backends) - {REFERENCE_BACKEND}:
        raise InputError(f"--precision {precision}: no backend to deploy for; also give --backend {DEFAULT_BACKEND}")
    if launcher not in LAUNCHERS:
        raise InputError(f'--launcher "{launcher}": expected one of {", ".join(LAUNCHERS)}')
    if batch_size < 1:
        raise InputError(f"--batch-size {batch_size}: expected 1 or more")
    if limit is not None and limit < 1:
        raise InputError(f"--limit {limit}: expected 1 or more")
    check_present("--deployment", deployments, "folder")
    check_present("checkpoint", [checkpoint])


def requested_backends(backends: Sequence[str], deployments: Sequence[str | Path]) -> Sequence[str]:
    """The defaults where neither a backend nor a deployment is named."""
    return backends or (() if deployments else (REFERENCE_BACKEND, DEFAULT_BACKEND))


def check_backends(backends: Sequence[str], deployments: Sequence[str | Path], device: str | None) -> None:
    """Whether there are such backends, and each has the device, those of the deployments, too. Raises InputError.

    Known when the config has been read, whose `custom_imports` may bring backends.
    """
    from zoo.manifest import Manifest  # with OpenCV, which --help does without

    of_deployments = [Manifest.read(folder).backend for folder in deployments] if device is not None else []
    for name in (*backends, *of_deployments):
        backend = get_backend(name)
        if device is not None and name != REFERENCE_BACKEND:
            backend.check_device(device)
    if device is not None and set(backends) == {REFERENCE_BACKEND} and not deployments:
        get_backend(REFERENCE_BACKEND).check_device(device)
