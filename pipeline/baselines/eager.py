"""The unpatched model in eager PyTorch."""

from dataclasses import dataclass

from backends.benchmark.case import Setting, Subject
from backends.model import Model
from backends.threads import default_threads
from pipeline.base.device import check_torch_device
from pipeline.baselines.baseline import Baseline, Request, register
from zoo.target import REFERENCE_BACKEND


class Eager(Baseline):
    """With the preprocessing and post-processing of the deployment."""

    name = REFERENCE_BACKEND
    summary = "the unpatched model in eager PyTorch"

    def subject(self, request: Request) -> Subject:
        """See Baseline."""
        config = request.config or request.manifest.name
        name, device = request.place(self.name, check_torch_device)
        return _EagerSubject(name, str(request.folder), config, request.checkpoint, device)


@dataclass(frozen=True)
class _EagerSubject(Subject):
    name: str
    folder: str
    config: str
    checkpoint: str | None
    device: str

    def open(self, setting: Setting) -> Model:
        from pipeline.baselines.deployed_model import deployed_model
        from pipeline.evaluation.reference import reference_model

        built = deployed_model(self.folder, self.config, self.checkpoint)
        return reference_model(
            built.config,
            built.config.task,
            built.model,
            built.input_policy,
            batch_size=setting.batch,
            device=self.device,
            threads=setting.threads or (default_threads() if setting.workers is None else None),
            workers=setting.workers,
        )


register(Eager())
