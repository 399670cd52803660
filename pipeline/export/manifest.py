"""The deployment in words: the manifest, and the metadata inside the ONNX file. Nothing here varies between runs."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
from torch import nn

from backends.registry import get_backend
from pipeline.base.weights import weights_sha256
from pipeline.export.host_part import HostPart
from pipeline.export.thresholds import default_thresholds
from pipeline.job.job import Job
from pipeline.job.plugin_level import plugin_level
from rewriters import ExportRecord
from rewriters.precision.report import DTYPES, computing_nodes
from zoo.cards import config_sha256
from zoo.families import family_of
from zoo.installed_versions import installed_versions
from zoo.manifest import ONNX_FILE, Manifest, file_record
from zoo.processor import processor
from zoo.target import DEFAULT_BACKEND, DEFAULT_LAYOUT, Target

EXPORTERS_PACKAGES = ("zooport", "torch", "torchvision", "onnx", "onnxscript", "numpy", "opencv-python")
RUNNING_PACKAGES = ("numpy", "opencv-python")


def versions(backend: str = DEFAULT_BACKEND) -> dict[str, str]:
    """Of all packages that a deployment's bytes or numbers depend on; without those that are not installed.

    Those of the default backend are always among them: it checks exports, and quantises.
    """
    default, own = get_backend(DEFAULT_BACKEND).distributions, get_backend(backend).distributions
    return installed_versions((*EXPORTERS_PACKAGES, *default, *own))


def model_libraries(model: nn.Module) -> dict[str, str]:
    """What the families of a model and of its parts say that its libraries are, by name."""
    used = dict.fromkeys(family_of(part) for part in model.modules())
    return {name: text for family in used for name, text in family.libraries().items()}


def proved_on(target: Target) -> dict[str, Any]:
    """This machine, and the versions of what runs the deployment on it: its backend, or what stands in for that."""
    backend, default = get_backend(target.backend), get_backend(DEFAULT_BACKEND)
    stands_in = target.level == "plugin" or backend.can_run(backend.device(target.device)) is not None
    packages = (*(default.distributions if stands_in else ()), *backend.distributions, *RUNNING_PACKAGES)
    return {**processor().to_dict(), "versions": installed_versions(packages)}


def onnx_metadata(job: Job, model: nn.Module, host: HostPart | None = None) -> dict[str, str]:
    """What is known before parity, for the file's metadata_props: ``zooport.*``, and plain keys that other tools read.

    ``names`` is a literal dict from label to name, ``imgsz`` a literal [height, width] of a fixed size. ``host``: what
    the backend does on the host. A layout of the model's family adds what its tools read.
    """
    task, target = job.task, job.target
    metadata = {
        "zooport.name": job.name,
        "zooport.version": versions().get("zooport", "unknown"),
        "zooport.task": task.name,
        "zooport.output_level": output_level(job, model),
        "zooport.classes": json.dumps([info._asdict() for info in task.classes], sort_keys=True),
        "zooport.preprocess": json.dumps(job.preprocess.to_dict(), sort_keys=True),
        "names": repr({index: info.name for index, info in enumerate(task.classes)}),
    }
    if task.options:
        metadata["zooport.task_options"] = json.dumps(task.options, sort_keys=True)
    metadata |= task.kind.metadata(target.sides) if host is None else host.metadata
    if target.layout != DEFAULT_LAYOUT:
        metadata |= family_of(model).layouts[target.layout].metadata(model, target)
    return metadata


def output_level(job: Job, model: nn.Module) -> str:
    """The target's; "final" where level plugin is asked for with standard operators alone."""
    if job.target.level != "plugin":
        return job.target.level
    return plugin_level(model, job.task, job.config.export.plugin).level


def manifest(
    job: Job,
    model: nn.Module,
    export: ExportRecord,
    folder: Path,
    host: HostPart | None = None,
    computed: Mapping[str, int] | None = None,
) -> Manifest:
    """The manifest of the files in ``folder``, with no verdict yet.

    ``computed``: how many kernels or layers compute in which dtype; None where that was not counted, as for fp32.
    """
    target = job.target
    backend = get_backend(target.backend)
    return Manifest(
        name=job.name,
        task=job.task.name,
        task_options=job.task.options,
        defaults=_defaults(job, model),
        classes=job.task.classes,
        preprocess=job.preprocess,
        inputs=export.inputs,
        outputs=export.outputs,
        axes={axis: target.axes[axis] for axis in target.dynamic_axes},
        output_level=output_level(job, model),
        backend=target.backend,
        precision=_precision(target, export, computed, folder / ONNX_FILE),
        engine={} if target.engine is None else target.engine.to_dict(),
        provider=backend.device(target.device),
        exporter=export.exporter,
        opset=export.opset,
        versions=versions(target.backend) | model_libraries(model),
        files={name: file_record(folder / name) for name in (ONNX_FILE, *backend.files)},
        rewriters=tuple({"name": f.name, "reason": f.reason, "hits": f.hits} for f in export.rewriters),
        gates=job.gates,
        checkpoint={"sha256": weights_sha256(model)},
        config={"sha256": config_sha256(job.config)},
        proved_on=proved_on(target),
        **({} if host is None else host.fields),
    )


def _precision(target: Target, export: ExportRecord, computed: Mapping[str, int] | None, path: Path) -> dict[str, Any]:
    """`options` are what was asked for; `calibrated_on` is how many images there were. `path`: the ONNX file's."""
    if computed is None:
        return {"stored": target.precision, "computed": "fp32" if target.precision == "fp32" else "unknown"}
    if export.precision is None:
        nodes = {"stored": computing_nodes(onnx.load(path)), "computed": dict(computed)}
        lower = computed.keys() - {"float32", "float64"}
        return {"stored": target.precision, "computed": "mixed" if lower else target.precision, "nodes": nodes}
    return {
        "stored": target.precision,
        "computed": _mostly(target.precision, export.precision.nodes, computed),
        "options": target.precision_options.to_dict(),
        "calibrated_on": export.calibrated,
        "nodes": {"stored": dict(export.precision.nodes), "computed": dict(computed)},
    }


def _mostly(precision: str, stored: Mapping[str, int], computed: Mapping[str, int]) -> str:
    """The precision that the layers of the file which are in it run in: "mixed" where not all of them do."""
    dtype = DTYPES[precision]
    storing, computing = stored.get(dtype, 0), computed.get(dtype, 0)
    return precision if computing >= storing else "mixed" if computing else "fp32"


def _defaults(job: Job, model: nn.Module) -> dict[str, float]:
    """Of the inputs that may be left out."""
    target = job.target
    contract = job.contract(model)
    return {**contract.defaults, **default_thresholds(model, target)}
