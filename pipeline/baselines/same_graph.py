"""The deployment's own graph, run by another backend."""

from dataclasses import dataclass

from backends.availability import require
from backends.backend import CPU, Backend, LoadOptions
from backends.benchmark.case import Setting, Subject
from backends.loading import load_with
from backends.model import Model
from pipeline.baselines.baseline import Baseline, Request
from zoo.errors import InputError
from zoo.manifest import Manifest


class SameGraph(Baseline):
    """Of any backend that opens an ONNX file as it is."""

    def __init__(self, backend: Backend) -> None:
        self.name = backend.name
        self.summary = f"the same graph in {backend.title}"
        self._backend = backend

    def check(self, manifest: Manifest) -> None:
        """See Baseline."""
        if self.name == manifest.backend:
            raise InputError(f"--against {self.name}: the deployment is of this backend already; leave it out")
        if self._backend.files:
            raise InputError(
                f"--against {self.name}: it builds {' and '.join(self._backend.files)} of a graph first; deploy with "
                f"--backend {self.name}, and name both deployments"
            )
        require(self.name)

    def subject(self, request: Request) -> Subject:
        """See Baseline."""
        folder = str(request.folder)

        def check(device: str) -> None:
            self._backend.check_device(device)
            if device != CPU:
                load_with(folder, self.name, LoadOptions(device), self.name).close()

        name, device = request.place(self.name, check)
        return _GraphSubject(name, self.name, folder, device)


@dataclass(frozen=True)
class _GraphSubject(Subject):
    name: str
    backend: str
    folder: str
    device: str

    def open(self, setting: Setting) -> Model:
        options = LoadOptions(self.device, setting.threads, workers=setting.workers)
        return load_with(self.folder, self.backend, options, f"run by {self.backend}")
