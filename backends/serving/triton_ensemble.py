"""A deployment as an ensemble of NVIDIA's Triton, with the graph in a backend of Triton's own.

The ensemble and its two Python models take one input a request. The graph's model makes the batches, of requests whose
tensors have the same shape. The steps are a chain: Triton 2.51 can crash if one of two parallel steps fails.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from backends.backend import Backend
from backends.deployment import Deployment
from backends.registry import get_backend
from backends.serving.protocol import FILE, check_outputs, read_content
from backends.serving.triton_config import (
    ANY,
    Serving,
    Tensor,
    accelerator,
    answer_tensors,
    config_text,
    graph_tensor,
    instances,
    largest_batch,
    parameters,
    queue,
    request_tensors,
    step_tensor,
    warmup,
)
from backends.serving.triton_files import FIRST_CALL, TritonModel, model_py
from backends.serving.triton_model import FOLDER
from backends.serving.triton_steps import GEOMETRY, GRAPH, preprocessed
from zoo.errors import InputError
from zoo.manifest import ONNX_FILE, Manifest
from zoo.manifest_text import manifest_text
from zoo.opened_folder import MANIFEST_FILE
from zoo.target import AxisRange
from zoo.tasks import Result
from zoo.tensor_spec import TensorSpec

PYTHON = 'backend: "python"'


def check_ensemble(manifest: Manifest) -> None:
    """Raise InputError unless a backend of Triton's own can run the graph."""
    advice = "leave --ensemble out: the Python model runs every deployment"
    backend = get_backend(manifest.backend)
    if not backend.triton_backend:
        raise InputError(f"{manifest.name}: Triton has no backend of its own for {backend.title}; {advice}")
    if manifest.windows is not None:
        raise InputError(f"{manifest.name}: the host cuts its images into windows, which Triton cannot; {advice}")
    if manifest.pillars is not None:
        raise InputError(f"{manifest.name}: the host puts its points into pillars, which Triton cannot; {advice}")


def ensemble_models(model: Deployment, content: bytes, result: Result, serving: Serving) -> list[TritonModel]:
    """The steps, then the ensemble, which is `serving.name`. Arguments: see triton_python.python_model."""
    manifest, names = model.manifest, _Names(serving.name)
    requested, (*results, described) = request_tensors(manifest, batched=False), answer_tensors(result, batched=False)
    batched = _largest_batch(manifest, serving) > 0
    prepared = [step_tensor(spec, GRAPH + spec.name, batched=batched) for spec in manifest.inputs]
    computed = [step_tensor(spec, GRAPH + spec.name, batched=batched) for spec in manifest.outputs]
    geometry = Tensor(GEOMETRY, "int64", (1, ANY))
    taken = {each.name for each in (*requested, described, geometry, *prepared, *computed)}
    check_outputs(manifest.name, result.arrays, taken)
    bounds = (instances(serving), queue(serving))
    first_call = warmup(0, Tensor(FILE, "uint8", (1, len(content))))
    before = config_text(
        names.preprocessing, PYTHON, 0, requested, [*prepared, geometry, described], *bounds, first_call
    )
    after = config_text(names.postprocessing, PYTHON, 0, [*computed, geometry], results, *bounds)
    steps = _steps(
        [
            (names.preprocessing, _same(requested), _same([*prepared, geometry, described])),
            (names.graph, _of_graph(manifest.inputs), _of_graph(manifest.outputs)),
            (names.postprocessing, _same([*computed, geometry]), _same(results)),
        ]
    )
    ensemble = config_text(serving.name, 'platform: "ensemble"', 0, requested, [*results, described], steps)
    return [
        TritonModel(
            names.preprocessing, before, {**_python_files(manifest, "Preprocessing"), f"{FIRST_CALL}/{FILE}": content}
        ),
        _graph(names.graph, model, content, serving),
        TritonModel(names.postprocessing, after, _python_files(manifest, "Postprocessing")),
        TritonModel(serving.name, ensemble, {"1/.keep": b""}),  # Triton wants the folder of a version
    ]


class _Names:
    """Of the steps' models."""

    def __init__(self, ensemble: str) -> None:
        self.preprocessing = f"{ensemble}-preprocessing"
        self.graph = f"{ensemble}-graph"
        self.postprocessing = f"{ensemble}-postprocessing"


def _graph(name: str, model: Deployment, content: bytes, serving: Serving) -> TritonModel:
    """The model of the graph, with the files of the deployment in the folder of its version."""
    manifest = model.manifest
    backend = get_backend(manifest.backend)
    on_cpu = backend.is_on_cpu(manifest.provider)
    batch = _largest_batch(manifest, serving)
    first = min(batch, 1)  # a model with batches leaves their axis out
    arrays = preprocessed(model, read_content(model.task.kind, np.frombuffer(content, np.uint8)), {})
    feeds = {spec: arrays[GRAPH + spec.name] for spec in manifest.inputs}
    config = config_text(
        name,
        f"backend: {json.dumps(backend.triton_backend)}\ndefault_model_filename: {json.dumps(_file(backend))}",
        batch,
        [graph_tensor(spec, batched=batch > 0) for spec in manifest.inputs],
        [graph_tensor(spec, batched=batch > 0) for spec in manifest.outputs],
        instances(serving) if on_cpu else instances(replace(serving, instances=1), on_cpu=False),
        queue(serving),
        warmup(first, *(Tensor(spec.name, spec.dtype, array.shape[first:]) for spec, array in feeds.items())),
        parameters(backend.triton_parameters(serving.threads if on_cpu else None)),
        "" if on_cpu else accelerator(backend.triton_accelerator()),
    )
    files = {f"{FIRST_CALL}/{spec.name}": array.tobytes() for spec, array in feeds.items()}
    return TritonModel(name, config, files, deployment="1")


def _largest_batch(manifest: Manifest, serving: Serving) -> int:
    on_cpu = get_backend(manifest.backend).is_on_cpu(manifest.provider)
    return largest_batch(serving, _joined_batches(manifest), on_cpu=on_cpu)


def _joined_batches(manifest: Manifest) -> AxisRange:
    """Those that Triton may make.

    It joins requests whose tensors have the same shapes, which is not enough if the graph has other inputs: a
    threshold, or the size of each image in its tensor, which a batch would have to share.
    """
    images, *others = manifest.inputs
    axis = images.shape[0]
    if others or isinstance(axis, int) or any(spec.shape[:1] != (axis,) for spec in manifest.outputs):
        return AxisRange.fixed(1)
    axes = manifest.axes[axis]
    return axes if axes.min == 1 else AxisRange.fixed(1)


def _file(backend: Backend) -> str:
    """What the backend of Triton loads."""
    return (*backend.files, ONNX_FILE)[0]


def _python_files(manifest: Manifest, step: str) -> dict[str, bytes]:
    return {
        "1/model.py": model_py(f"{step} of a deployment in Triton.", "triton_steps", step),
        f"1/{FOLDER}/{MANIFEST_FILE}": manifest_text(manifest.to_dict()),
    }


def _same(tensors: list[Tensor]) -> dict[str, str]:
    """Tensors that the ensemble calls as the step does."""
    return {each.name: each.name for each in tensors}


def _of_graph(specs: Iterable[TensorSpec]) -> dict[str, str]:
    return {spec.name: GRAPH + spec.name for spec in specs}


def _steps(steps: Sequence[tuple[str, Mapping[str, str], Mapping[str, str]]]) -> str:
    """Each: a model, its inputs -> tensors of the ensemble, its outputs -> tensors of the ensemble."""
    lines = ["ensemble_scheduling {"]
    for name, inputs, outputs in steps:
        lines += ["  step {", f"    model_name: {json.dumps(name)}", "    model_version: -1"]
        for kind, names in (("input_map", inputs), ("output_map", outputs)):
            lines += [
                f"    {kind} {{ key: {json.dumps(own)} value: {json.dumps(shared)} }}" for own, shared in names.items()
            ]
        lines.append("  }")
    return "\n".join([*lines, "}"])
