"""A deployment as one Python model of NVIDIA's Triton, around `load`: for every backend and task."""

from backends.deployment import Deployment
from backends.registry import get_backend
from backends.serving.protocol import DEPLOYMENT, FILE
from backends.serving.triton_config import (
    ANY,
    OPTIONAL,
    Serving,
    Tensor,
    config_text,
    instances,
    largest_batch,
    parameters,
    queue,
    warmup,
)
from backends.serving.triton_files import FIRST_CALL, TritonModel, model_py
from backends.serving.triton_model import FOLDER, THREADS
from zoo.manifest import Manifest
from zoo.target import AxisRange
from zoo.tasks import Result


def python_model(model: Deployment, content: bytes, result: Result, serving: Serving) -> TritonModel:
    """`content`: of the file that Triton makes the first call with. `result`: of it; its arrays are the outputs."""
    manifest = model.manifest
    on_cpu = get_backend(manifest.backend).is_on_cpu(manifest.provider)
    dtypes = {spec.name: spec.dtype for spec in manifest.inputs}
    file = Tensor(FILE, "uint8", (ANY,), " allow_ragged_batch: true")
    settings = [Tensor(name, dtypes[name], (1,), OPTIONAL) for name in manifest.defaults]
    outputs = [Tensor(name, array.dtype.name, (ANY,) * array.ndim) for name, array in result.arrays.items()]
    config = config_text(
        serving.name,
        'backend: "python"',
        largest_batch(serving, _batches(manifest), on_cpu=on_cpu),
        [file, *settings],
        [*outputs, Tensor(DEPLOYMENT, "uint8", (ANY,))],
        instances(serving, on_cpu=on_cpu),
        queue(serving),
        warmup(1, file._replace(sides=(len(content),))),
        parameters({THREADS: str(serving.threads)}),
    )
    files = {
        "1/model.py": model_py("A deployment as a Python model of Triton.", "triton_model", "TritonPythonModel"),
        f"{FIRST_CALL}/{FILE}": content,
    }
    return TritonModel(serving.name, config, files, deployment=f"1/{FOLDER}")


def _batches(manifest: Manifest) -> AxisRange:
    """Those that the graph takes."""
    count = manifest.inputs[0].shape[0]
    return manifest.axes[count] if isinstance(count, str) else AxisRange.fixed(count)
