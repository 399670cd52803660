"""What is measured: a subject, which opens a model, and the setting in which the model is called."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

from backends.loading import load
from backends.model import Model


@dataclass(frozen=True)
class Setting:
    """`threads` of a call, None for the model's own; `batch`: images of a call.

    `workers`: calls at once, as of `load`; None for one call after another, in the thread of the caller.
    """

    threads: int | None = None
    batch: int = 1
    workers: int | None = None


class Subject(ABC):
    """What opens a model. It can be pickled: a process of its own measures how it starts."""

    name: str

    @abstractmethod
    def open(self, setting: Setting) -> Model:
        """The model for a setting. Raises what `load` raises."""


@dataclass(frozen=True)
class DeploymentSubject(Subject):
    """A deployment's `folder`, on the device `provider`; None for that of its manifest."""

    name: str
    folder: str
    provider: str | None = None

    def open(self, setting: Setting) -> Model:
        """See Subject."""
        return load(self.folder, provider=self.provider, threads=setting.threads, workers=setting.workers)


class Case(NamedTuple):
    """A subject in a setting: a row of the table."""

    subject: Subject
    setting: Setting
