"""The export of a deploy: the contract's module, real images as the example, the contract's names and shapes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pipeline.base.steps import PRECISION, BeginStep, unseen
from pipeline.export.graph_step import Steps, rewritten
from pipeline.export.host_part import HostPart, deployment_inputs
from pipeline.export.manifest import onnx_metadata
from pipeline.export.output_specs import output_specs
from pipeline.export.precision_step import at_precision
from pipeline.export.reference_run import ReferenceRun
from pipeline.export.thresholds import threshold_steps
from pipeline.job.job import Job
from pipeline.job.plugin_level import plugin_level
from pipeline.parity.graph_inputs import stacked
from pipeline.parity.graph_parity import graph_references
from pipeline.precision.calibration import Calibration, calibration
from rewriters import ExportRecord, export_onnx
from zoo.families import contract_module
from zoo.manifest import ONNX_FILE
from zoo.target import Target
from zoo.tasks.contract import Contract
from zoo.tensor_spec import TensorSpec

EXAMPLE_BATCH = 2  # an example of one would be frozen into a dynamic batch


def export_step(
    job: Job,
    model: nn.Module,
    reference: ReferenceRun,
    folder: Path,
    host: HostPart | None = None,
    progress: BeginStep = unseen,
) -> ExportRecord:
    """Write model.onnx into the folder; the record says what the deployment takes and gives.

    `host`: what the backend will do on the host. `progress` is called when the file is brought to fp16 or int8. Raises
    ExportError, and InputError for a call that export_onnx refuses.
    """
    target, path = job.target, folder / ONNX_FILE
    if target.level == "plugin":
        return _plugin_export(job, model, reference, path)
    contract = job.contract(model)

    def calibrated() -> Calibration:
        progress(PRECISION)
        count = target.precision_options.calibration_images
        return calibration(job, count, images=job.calibration, defaults=contract.defaults)

    specs = output_specs(contract.outputs(job.task, target.level), target, reference.graph)
    section = job.config.export
    example = _example(job, reference)
    example |= {name: torch.tensor([value]) for name, value in contract.defaults.items()}
    rest: dict[str, Any] = {
        "steps": [*section.graph_rewriters, *threshold_steps(model, target)],
        "metadata": onnx_metadata(job, model, host),
    }
    if host is None:
        return export_file(
            *(contract, target, path),
            example=example,
            output_specs=specs,
            required_rewriters=section.rewriters,
            calibrated=calibrated,
            **rest,
        )
    record = export_file(
        *(host.module, host.file_target(target), path),
        example=host.file_example(example),
        output_specs=host.file_outputs(specs),
        required_rewriters=host.required(section.rewriters),
        calibrated=lambda: host.calibration(calibrated()),
        **rest,
    )
    return replace(record, inputs=deployment_inputs(job.task.kind, target), outputs=specs)


def export_file(
    module: Contract,
    target: Target,
    path: Path,
    *,
    example: Mapping[str, Tensor],
    output_specs: Sequence[TensorSpec],
    required_rewriters: Sequence[str | Mapping[str, Any]] = (),
    steps: Steps = (),
    metadata: Mapping[str, str] | None = None,
    calibrated: Callable[[], Calibration] = Calibration,
) -> ExportRecord:
    """The export, then the graph rewriters `steps`, then the target's precision. Raises as export_onnx does."""
    record = export_onnx(
        module,
        target,
        path,
        example=example,
        output_specs=output_specs,
        required_rewriters=required_rewriters,
        metadata=metadata,
        other_sizes=target.precision != "fp32",  # in fp32 the comparison of the deployment covers them
    )
    record = rewritten(record, path, steps, target, example, output_specs)
    return at_precision(record, path, target, example, output_specs, calibrated)


def _plugin_export(job: Job, model: nn.Module, reference: ReferenceRun, path: Path) -> ExportRecord:
    """The export of the plugin's base level, with the plugin node in the place of what follows."""
    section, target = job.config.export, job.target
    plugin = plugin_level(model, job.task, section.plugin)
    base = target.with_(level=plugin.base)
    contract = contract_module(model, job.task, plugin.base, job.forward, rule=job.preprocess)
    inputs = [entry.given for entry in reference.graph]
    references = graph_references(model, job.task, plugin.base, job.forward, inputs, rule=job.preprocess)
    example = _example(job, reference)
    record = export_onnx(
        contract,
        base,
        path,
        example=example,
        output_specs=output_specs(contract.outputs(job.task, plugin.base), base, references),
        required_rewriters=section.rewriters,
        metadata=onnx_metadata(job, model),
        other_sizes=False,  # the comparison of the deployment covers them
    )
    steps = [*section.graph_rewriters, plugin.step]
    return rewritten(record, path, steps, target, example, plugin.outputs)


def measured(export: ExportRecord) -> dict[str, Any]:
    """What varies between runs, for parity.json."""
    return {
        "seconds": round(export.seconds, 3),
        "peak_memory_bytes": export.peak_memory,
        "nodes": export.nodes,
        "warnings": list(export.warnings),
    }


def _example(job: Job, reference: ReferenceRun) -> dict[str, Tensor]:
    """The graph's inputs, of the images in which the model found most.

    A trace must not take the early way out of an empty image.
    """
    batch = job.target.batch
    count = max(EXAMPLE_BATCH, batch.min) if batch.dynamic else batch.opt
    amounts = [job.task.amount(entry.result) for entry in reference.pipeline]
    order = sorted(range(len(amounts)), key=lambda index: -amounts[index])
    chosen = [job.images[order[i % len(order)]] for i in range(count)]
    target = job.target
    case = stacked(job.task.kind, chosen, target.preferred, job.preprocess, image_sizes=target.image_sizes)
    return {name: torch.from_numpy(array) for name, array in case.arrays.items()}
