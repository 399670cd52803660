"""What torch.onnx.export makes of the unpatched model, in ONNX Runtime: what a user has without zooport."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from backends.benchmark.case import Setting, Subject
from backends.model import Model
from pipeline.baselines.baseline import Baseline, Request, register
from zoo.errors import ExportError, InputError
from zoo.manifest import Manifest

if TYPE_CHECKING:
    from pipeline.baselines.deployed_model import DeployedModel


class PlainExport(Baseline):
    """By the deployment's exporter and opset, for one size and batch. Whether its numbers are right is not checked."""

    name = "plain-export"
    summary = "torch.onnx.export of the unpatched model, in ONNX Runtime"

    def check(self, manifest: Manifest) -> None:
        """See Baseline."""
        if manifest.precision["stored"] != "fp32":
            raise InputError(
                f"--against {self.name}: it is of precision fp32, and the deployment of "
                f"{manifest.precision['stored']}; name the fp32 deployment first"
            )

    def subject(self, request: Request) -> Subject:
        """See Baseline; ExportError where torch's exporter refuses the model."""
        from backends.onnxruntime.providers import provider_options
        from pipeline.baselines.deployed_model import deployed_model

        name, device = request.place(self.name, provider_options)
        built = deployed_model(request.folder, request.config or request.manifest.name, request.checkpoint)
        for batch in dict.fromkeys(request.batches):
            _export(built, request, batch, _path(request.scratch, batch))
        return _PlainSubject(name, str(request.folder), str(request.scratch), device)


@dataclass(frozen=True)
class _PlainSubject(Subject):
    name: str
    folder: str
    scratch: str
    device: str

    def open(self, setting: Setting) -> Model:
        from backends.onnxruntime.runner import OnnxRuntimeRunner

        manifest = Manifest.read(self.folder)
        threads = setting.threads if setting.threads is not None or setting.workers is None else 1
        runner = OnnxRuntimeRunner(_path(Path(self.scratch), setting.batch), provider=self.device, threads=threads)
        return Model(self.name, manifest.build_task(), manifest.preprocess, runner, workers=setting.workers)


def _path(scratch: Path, batch: int) -> Path:
    return scratch / f"plain-{batch}.onnx"


def _export(built: "DeployedModel", request: Request, batch: int, path: Path) -> None:
    """Of the images that a call has, as tensors; no rewriter is near."""
    import torch

    from pipeline.evaluation.reference import reference_model
    from zoo.families import contract_module

    config, policy = built.config, built.input_policy
    with reference_model(config, config.task, built.model, policy, batch_size=batch, device="cpu") as reference:
        images = [request.images[place % len(request.images)] for place in range(batch)]
        tensor, geometries = reference.preprocess(images)
        kind, runner = config.task.kind, reference.runner
        arrays = {kind.inputs[0].name: tensor, **kind.companions(geometries), **runner.defaults}
        inputs = {spec.name: torch.from_numpy(arrays[spec.name].copy()) for spec in runner.inputs}
        outputs = [spec.name for spec in runner.outputs]
    contract = contract_module(built.model, config.task, "final", config.export.forward, rule=policy.rule)
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                contract,
                tuple(inputs.values()),
                path,
                dynamo=request.manifest.exporter == "dynamo",
                opset_version=request.manifest.opset,
                input_names=list(inputs),
                output_names=outputs,
                verbose=False,
            )
    except Exception as error:  # the exporters raise whatever their passes meet
        reason = str(error).strip().partition("\n")[0]
        raise ExportError(
            f"--against {PlainExport.name}: torch's exporter {request.manifest.exporter} refuses the unpatched model "
            f"({type(error).__name__}: {reason}); leave it out"
        ) from error


register(PlainExport())
