"""From a deployment's folder to a model that runs."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

from backends.availability import require
from backends.deployment import Deployment
from backends.runner import Runner
from backends.slide_runner import LOGITS, Progress, SlideRunner
from zoo.errors import InputError
from zoo.input_specs import IMAGES
from zoo.manifest import MANIFEST_FILE, Manifest
from zoo.preprocess import CHANNELS
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

ONNX_FILE = "model.onnx"


def load(
    path: str | os.PathLike[str],
    *,
    provider: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Deployment:
    """Load the deployment in the folder `path`, as tools/deploy.py wrote it.

    `provider` ("cpu", "cuda", "cuda:1" ...) and `threads` replace what the manifest says; without either, the CPU and
    all CPUs that this process may use. `progress` is called with (windows done, windows of the image) where the
    deployment cuts images into windows. Raises InputError where the folder or a file of it is missing, changed or of an
    unknown schema version, or the backend unknown; BackendUnavailableError where the backend or provider is not here.
    """
    folder = Path(path)
    if not folder.is_dir():
        fault = "is a file" if folder.exists() else "no such folder"
        raise InputError(f"{folder}: {fault}; give the folder with {MANIFEST_FILE} that tools/deploy.py wrote")
    manifest = Manifest.read(folder)
    if manifest.backend == "pytorch":
        raise InputError(f"{folder}: backend pytorch runs modules, not folders; deploy with --backend onnxruntime")
    if manifest.output_level == "plugin":
        raise InputError(
            f"{folder}: output level plugin holds nodes that TensorRT's plugins run, and no backend here has them; "
            f"give {ONNX_FILE} to TensorRT with the plugin, or deploy another --output-level"
        )
    require(manifest.backend)
    if ONNX_FILE not in manifest.files:
        raise InputError(f"{folder / MANIFEST_FILE}: files: no {ONNX_FILE}, which backend onnxruntime loads")
    runner = _verified(folder, manifest, lambda: _open_onnxruntime(folder, manifest, provider, threads))
    if manifest.windows is not None:
        runner = SlideRunner(
            runner, manifest.windows, manifest.inputs, manifest.outputs, manifest.axes, progress=progress
        )
    return Deployment(manifest, runner)


def _verified(folder: Path, manifest: Manifest, open_runner: Callable[[], Runner]) -> Runner:
    """The opened runner, once all hashes are right. Files are hashed while the engine loads them, to save the time.

    A file that changed is the better message, so it also comes where the engine has refused that file.
    """
    faults: list[Exception] = []

    def verify() -> None:
        try:
            manifest.verify(folder)
        except Exception as fault:  # noqa: BLE001 - raised again below, in the caller's thread
            faults.append(fault)

    hashing = threading.Thread(target=verify, name="zooport-verify")
    hashing.start()
    try:
        return open_runner()
    finally:
        hashing.join()
        if faults:
            raise faults[0]


def _open_onnxruntime(folder: Path, manifest: Manifest, provider: str | None, threads: int | None) -> Runner:
    from backends.onnxruntime import OnnxRuntimeRunner

    inputs, outputs, axes = manifest.inputs, manifest.outputs, manifest.axes
    if manifest.windows is not None:  # the file is the model of one
        crop = manifest.windows.crop_size
        inputs = (TensorSpec(IMAGES.name, "float32", ("batch", CHANNELS, *crop)),)
        outputs = (TensorSpec(LOGITS, "float32", ("batch", len(manifest.classes), *crop)),)
        axes = {"batch": AxisRange(1, 1, manifest.windows.batch)}
    return OnnxRuntimeRunner(
        folder / ONNX_FILE,
        inputs,
        outputs,
        axes,
        defaults=manifest.defaults,
        provider=provider if provider is not None else manifest.provider or "cpu",
        threads=threads if threads is not None else manifest.threads,
    )
