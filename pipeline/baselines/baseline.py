"""A baseline, and the registry of those that are no backends. A module of this folder registers its own."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from backends.backend import CPU
from backends.benchmark.case import Subject
from backends.registry import get_backend
from zoo.errors import BackendUnavailableError, InputError
from zoo.manifest import Manifest


@dataclass(frozen=True)
class Request:
    """``folder`` and ``manifest``: of the deployment that is timed. ``device``: where, None for its own; see `place`.

    ``config`` and ``checkpoint``: of its model; None for the config of the deployment's name, and for the config's own.
    ``images``: those that it is timed on. ``batches``: how many of them a call has. ``scratch``: a folder for what is
    made of the model, which is there until the end.
    """

    folder: Path
    manifest: Manifest
    device: str | None
    config: str | None
    checkpoint: str | None
    images: Sequence[Any]
    batches: Sequence[int]
    scratch: Path

    def place(self, name: str, check: Callable[[str], object]) -> tuple[str, str]:
        """The name of a baseline's row, and its device: the requested one, else that of the deployment.

        `check` raises InputError where the baseline knows no such device, and BackendUnavailableError where it is not
        here. It then runs on the CPU, and its row says so; but a requested device that is not here is an error.
        """
        device = self.device or get_backend(self.manifest.backend).device(self.manifest.provider or CPU)
        try:
            check(device)
        except InputError:
            return f"{name} on {CPU}", CPU
        except BackendUnavailableError:
            if self.device is not None:
                raise
            return f"{name} on {CPU}", CPU
        return name, device


class Baseline(ABC):
    """``name``: of `--against`. ``summary``: what it is, for `--help`."""

    name: str
    summary: str

    def check(self, manifest: Manifest) -> None:
        """Raise InputError or BackendUnavailableError for what can be known without the model; imports no torch."""
        del manifest

    @abstractmethod
    def subject(self, request: Request) -> Subject:
        """What opens it. Raises InputError where the model is not the deployment's, and ExportError."""


_REGISTERED: dict[str, Baseline] = {}


def register(baseline: Baseline) -> None:
    """Add a baseline to those there are."""
    _REGISTERED[baseline.name] = baseline


def registered() -> Mapping[str, Baseline]:
    """Those of the modules that have been imported, by their names."""
    return MappingProxyType(_REGISTERED)
