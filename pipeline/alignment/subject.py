"""What is aligned: a config's model, a graph of it, and the tensors that go into both."""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError
from numpy.typing import NDArray
from torch import nn

from pipeline.base.steps import BUILD, CHECK, EXPORT, BeginStep
from pipeline.base.weights import weights_sha256
from pipeline.export.bound_job import bound_job
from pipeline.export.export_step import export_step
from pipeline.export.host_part import HostPart
from pipeline.export.host_pillars import METADATA as PILLARS
from pipeline.export.on_host import on_host
from pipeline.export.reference_run import ReferenceRun
from pipeline.export.scales import at_other_scales
from pipeline.graphs.deployed_graph import deployed_graph
from pipeline.job.deploy_target import deploy_target
from pipeline.job.deployment_axes import deployment_axes
from pipeline.job.eager import job_references
from pipeline.job.job import Job, plan_job
from pipeline.parity.graph_inputs import GraphInput, graph_inputs, stacked
from pipeline.parity.reference_result import reference_result
from zoo.build import build_model
from zoo.comparison.decision_rule import DecisionRule
from zoo.config import ConfigSource, ModelConfig, load_config
from zoo.errors import InputError
from zoo.families import check_exporter, checked_divisor, family_of, layout_of
from zoo.manifest import ONNX_FILE, Manifest
from zoo.opened_folder import OpenedFolder, read_whole
from zoo.pillars import Pillars
from zoo.target import Target
from zoo.tasks.contract import Contract

Array = NDArray[Any]
IMAGES_COMPARED = 2  # of different content; each costs a run of both sides


@dataclass(frozen=True)
class Subject:
    """`cases`: for each image its names and the inputs of `module`; `extra`: what `model` takes beside them.

    `outputs`: the names of what the module gives, None where they are not those of the task: one window's. `given`: the
    cases as the deployment takes them, of which `host` makes what the file takes.
    """

    job: Job
    module: Contract
    model: onnx.ModelProto
    cases: tuple[GraphInput, ...]
    extra: Mapping[str, Array]
    rule: DecisionRule
    outputs: tuple[str, ...] | None
    given: tuple[GraphInput, ...]
    host: HostPart | None

    @property
    def target(self) -> Target:
        """What the graph was made for."""
        return self.job.target


def load_subject(
    config: ConfigSource,
    target: Target | None,
    images: Sequence[str | Path],
    *,
    checkpoint: str | Path | None,
    deployment: str | Path | None,
    onnx_file: str | Path | None,
    progress: BeginStep,
) -> Subject:
    """The graph: of a deployment's folder, of a file, or, without either, exported now. Raises as a deploy does."""
    progress(CHECK)
    if deployment is not None and onnx_file is not None:
        raise InputError("a deployment and an ONNX file: give one of them")
    config = load_config(config)
    model, weights = None if onnx_file is None else _read(Path(onnx_file)), None
    if deployment is not None:
        if target is not None:
            raise InputError(
                f"{deployment}: a deployment and a target: the deployment has its own; leave the target out"
            )
        target, model, weights = read_whole(deployment, partial(_of_deployment, config))
        onnx_file = Path(deployment, ONNX_FILE)
    job = plan_job(config if model is None else _with_pillars(config, model), target, images, "work_dirs")
    if job.target.level == "plugin":
        raise InputError("output level plugin: its nodes run only in TensorRT's plugins; align --output-level decoded")
    chosen = job.images if images else job.images[:IMAGES_COMPARED]
    job = replace(job, images=chosen)
    progress(BUILD)
    built = build_model(job.config, checkpoint)
    if weights is not None and weights != (own := weights_sha256(built)):
        raise InputError(
            f"{deployment}: its weights differ (sha256 {weights[:12]}, expected {own[:12]}); give those that it was "
            "made from, --checkpoint F"
        )
    job, host = on_host(job, built)
    job = bound_job(job, built)
    if model is None:
        check_exporter(built, job.target)
        progress(EXPORT)
        model = _exported(job, built, host)
    subject = subject_of(job, built, model, host)
    _check_inputs(subject, onnx_file)
    return subject


def subject_of(job: Job, built: nn.Module, model: onnx.ModelProto, host: HostPart | None) -> Subject:
    """Of what a deploy has at hand. `host`: what the backend does on the host."""
    module = job.contract(built) if host is None else host.module
    given = tuple(_given(job))
    cases = tuple(_case(case, module, host) for case in given)
    names = tuple(spec.name for spec in module.outputs(job.task, job.target.level))
    outputs = names if host is None or host.gives_outputs else None
    rule = family_of(built).decision_rule(built)
    return Subject(job, module, model, cases, _extra(model, cases), rule, outputs, given, host)


def _given(job: Job) -> Iterator[GraphInput]:
    """Each image as a batch of the smallest size, as the deployment takes it."""
    target, count = job.target, job.target.batch.min
    for place in range(len(job.images)):
        chosen = [job.images[(place + step) % len(job.images)] for step in range(count)]
        yield stacked(job.task.kind, chosen, target.preferred, job.preprocess, image_sizes=target.image_sizes)


def _case(given: GraphInput, module: Contract, host: HostPart | None) -> GraphInput:
    """The same as the file takes it."""
    arrays = dict(given.arrays) if host is None else host.file_arrays(given.arrays)
    return GraphInput(given.images, {**arrays, **module.default_arrays()})


def _exported(job: Job, built: nn.Module, host: HostPart | None) -> onnx.ModelProto:
    """As a deploy exports it; of the cases of parity one for each size is run, which is all that an export asks for."""
    target = job.target
    inputs = graph_inputs(job.task.kind, job.images, target, job.preprocess, checked_divisor(built, target))
    by_size = list({entry.shape[1:]: entry for entry in reversed(inputs)}.values())
    references = job_references(job, built, [*by_size, *at_other_scales(built, by_size)])
    results = [
        reference_result(built, job.task, job.preprocess, job.forward, image.value, image_sizes=target.image_sizes)
        for image in job.images
    ]
    with tempfile.TemporaryDirectory(prefix="zooport-align-") as folder:
        export_step(
            job, built, ReferenceRun(references, results, family_of(built).decision_rule(built)), Path(folder), host
        )
        return onnx.load(Path(folder, ONNX_FILE))


def _of_deployment(config: ModelConfig, folder: OpenedFolder) -> tuple[Target, onnx.ModelProto, str | None]:
    """The target and the graph of a deployment, and the hash of its weights. Its files must be what they were."""
    manifest = Manifest.read_verified(folder)
    if manifest.name != config.name:
        raise InputError(
            f"{folder.path}: a deployment of {manifest.name}, and the config is {config.name}; give the "
            "config that it was made from"
        )
    names = {spec.name for spec in manifest.inputs}
    target = deploy_target(
        config,
        deployment_axes(manifest, config.task.kind),
        backend=manifest.backend,
        precision=manifest.precision["stored"],
        exporter=manifest.exporter,
        opset=manifest.opset,
        level=manifest.target_level,
        image_sizes="image_sizes" in names,
        thresholds="score_threshold" in names,
        slide="graph" if manifest.windows is None else "host",
        layout=layout_of([spec.name for spec in manifest.outputs]),
    )
    return (
        target,
        deployed_graph(folder, manifest),
        None if manifest.checkpoint is None else manifest.checkpoint["sha256"],
    )


def _with_pillars(config: ModelConfig, model: onnx.ModelProto) -> ModelConfig:
    """The config with the file's pillars, where it takes any: other clouds would have others."""
    properties = {entry.key: entry.value for entry in model.metadata_props}
    if PILLARS not in properties:
        return config
    made = Pillars.from_dict(json.loads(properties[PILLARS]))
    options = {"slots": made.slots, "pillars": (made.count.min, made.count.opt, made.count.max)}
    return replace(config, export=replace(config.export, level_options=options))


def _read(path: Path) -> onnx.ModelProto:
    if not path.is_file():
        raise InputError(f"{path}: no such file; give an ONNX file that was exported here")
    try:
        model = onnx.load(path)
    except onnx.checker.ValidationError as error:
        raise InputError(f"{path}: {str(error).splitlines()[0]}; copy the file of its weights beside it") from error
    except (DecodeError, OSError) as error:
        raise InputError(f"{path}: not an ONNX model, or a damaged one; export or copy it again") from error
    return model


def _check_inputs(subject: Subject, path: str | Path | None) -> None:
    model, cases = subject.model, subject.cases
    constants = {tensor.name for tensor in model.graph.initializer}
    needed = [value.name for value in model.graph.input if value.name not in constants]
    lacking = [name for name in needed if name not in cases[0].arrays]
    if lacking or next(iter(cases[0].arrays)) not in needed:
        raise InputError(
            f"{path or 'the exported graph'}: takes {', '.join(needed) or 'nothing'}, and the config's model takes "
            f"{', '.join(cases[0].arrays)}; give a file exported from this config with the same options"
        )


def _extra(model: onnx.ModelProto, cases: Sequence[GraphInput]) -> dict[str, Array]:
    """Inputs that may be left out, by their defaults."""
    inputs = {value.name for value in model.graph.input} - cases[0].arrays.keys()
    return {
        tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer if tensor.name in inputs
    }
