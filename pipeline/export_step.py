"""The export of a deploy: the contract's module, real pictures as the example, the contract's names and shapes."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pipeline.describe import ONNX_FILE, onnx_metadata
from pipeline.job import Job
from pipeline.output_specs import output_specs
from pipeline.parity.graph_inputs import stacked
from pipeline.reference_run import ReferenceRun
from rewriters import ExportRecord, export_onnx
from zoo.contract import contract_module
from zoo.structures import DetectionResult, Result

EXAMPLE_BATCH = 2  # an example of one would be frozen into a dynamic batch


def export_step(job: Job, model: nn.Module, reference: ReferenceRun, folder: Path) -> ExportRecord:
    """Write model.onnx into the folder. Raises ExportError, and InputError for a call that export_onnx refuses."""
    target = job.target
    contract = contract_module(model, job.task, target.level, job.forward)
    return export_onnx(
        contract,
        target,
        folder / ONNX_FILE,
        example=_example(job, reference),
        output_specs=output_specs(contract.outputs(job.task, target.level), target, reference.graph),
        required_rewriters=job.config.get("export", {}).get("rewriters", ()),
        metadata=onnx_metadata(job),
    )


def measured(export: ExportRecord) -> dict[str, Any]:
    """What varies between runs, for parity.json."""
    return {
        "seconds": round(export.seconds, 3),
        "peak_memory_bytes": export.peak_memory,
        "nodes": export.nodes,
        "warnings": list(export.warnings),
    }


def _example(job: Job, reference: ReferenceRun) -> dict[str, Tensor]:
    """The graph's inputs, of the pictures in which the model found most.

    A trace must not take the early way out of an empty picture.
    """
    batch = job.target.batch
    count = max(EXAMPLE_BATCH, batch.min) if batch.dynamic else batch.opt
    found = [_count(entry.result) for entry in reference.pipeline]
    order = sorted(range(len(found)), key=lambda index: -found[index])
    chosen = [job.images[order[i % len(order)]] for i in range(count)]
    size = (job.target.height.opt, job.target.width.opt)
    arrays = stacked(chosen, size, job.preprocess, image_sizes=job.target.image_sizes).arrays
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _count(result: Result) -> int:
    """How many objects, or classes, a result has."""
    return len(result) if isinstance(result, DetectionResult) else len(np.unique(result.label_map))
