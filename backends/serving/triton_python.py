"""A deployment as one Python model of NVIDIA's Triton, around `load`: for every backend and task."""

from dataclasses import replace

from backends.deployment import Deployment
from backends.registry import get_backend
from backends.serving.protocol import FILE, check_outputs
from backends.serving.triton_config import (
    Serving,
    answer_tensors,
    config_text,
    instances,
    largest_batch,
    parameters,
    queue,
    request_tensors,
    warmup,
)
from backends.serving.triton_files import FIRST_CALL, TritonModel, model_py
from backends.serving.triton_model import FOLDER, THREADS
from zoo.manifest import Manifest
from zoo.target import AxisRange
from zoo.tasks import Result


def python_model(model: Deployment, content: bytes, result: Result, serving: Serving) -> TritonModel:
    """`content`: of the file that Triton makes the first call with. `result`: of it; its arrays are the outputs.

    Raises InputError for an output that has the name of another tensor, and for too large a batch.
    """
    manifest = model.manifest
    check_outputs(manifest.name, result.arrays)
    backend = get_backend(manifest.backend)
    on_cpu, on_cuda = backend.is_on_cpu(manifest.provider), backend.is_on_cuda(manifest.provider)
    batch = largest_batch(serving, _batches(manifest, result), on_cpu=on_cpu)
    file, *settings = request_tensors(manifest, batched=batch > 0)
    config = config_text(
        serving.name,
        'backend: "python"',
        batch,
        [file, *settings],
        answer_tensors(result, batched=batch > 0),
        instances(serving if on_cpu else replace(serving, instances=serving.instances or 1), on_cpu=not on_cuda),
        queue(serving),
        warmup(min(batch, 1), file._replace(sides=(*file.sides[:-1], len(content)))),
        parameters({THREADS: str(serving.threads)}),
    )
    files = {
        "1/model.py": model_py("A deployment as a Python model of Triton.", "triton_model", "TritonPythonModel"),
        f"{FIRST_CALL}/{FILE}": content,
    }
    return TritonModel(serving.name, config, files, deployment=f"1/{FOLDER}")


def _batches(manifest: Manifest, result: Result) -> AxisRange:
    """Those that the graph takes; none with a number for each input, since a batch of Triton has no tensor [N]."""
    if any(array.ndim == 0 for array in result.arrays.values()):
        return AxisRange.fixed(1)
    count = manifest.inputs[0].shape[0]
    return manifest.axes[count] if isinstance(count, str) else AxisRange.fixed(count)
