"""From the files of a deployment, held open, to the runner of its backend."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from backends.runner import Runner
from backends.slide_runner import LOGITS, Progress, SlideRunner
from zoo.engine_options import EngineOptions
from zoo.errors import BackendUnavailableError, InputError
from zoo.input_specs import IMAGES
from zoo.manifest import ENGINE_FILE, ONNX_FILE, RECORD_FILE, Manifest
from zoo.opened_file import COPY_AGAIN, as_opened
from zoo.opened_folder import MANIFEST_FILE, OpenedFolder
from zoo.preprocess import CHANNELS
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

if TYPE_CHECKING:  # onnxruntime is loaded when it is used
    from backends.onnxruntime import OnnxRuntimeRunner
    from backends.onnxruntime.held_model import HeldModel

CLASSES = "zooport.classes"  # a key of the ONNX file's metadata_props


def held_model(folder: OpenedFolder, manifest: Manifest) -> "HeldModel":
    """The deployment's ONNX file, and the files that it may read weights from."""
    from backends.onnxruntime.held_model import HeldModel

    return HeldModel(folder.file(ONNX_FILE), {name: folder.file(name) for name in manifest.files})


def with_windows(runner: Runner, manifest: Manifest, progress: Progress | None = None) -> Runner:
    """A runner of whole images, where that of the file takes windows."""
    if manifest.windows is None:
        return runner
    windows = manifest.windows
    return SlideRunner(runner, windows, manifest.inputs, manifest.outputs, manifest.axes, progress=progress)


def open_onnxruntime(
    model: "Path | HeldModel",
    manifest: Manifest,
    provider: str | None,
    threads: int | None,
    engine: EngineOptions | None = None,
    *,
    in_floats: bool = False,
) -> Runner:
    """The runner of the manifest's tensors. `model`: the ONNX file by its path, or held open. Raises as `load` does."""
    from backends.onnxruntime import OnnxRuntimeRunner
    from backends.onnxruntime.providers import BUILDERS, short_name

    provider = provider if provider is not None else manifest.provider or "cpu"
    cache = None
    if short_name(provider).partition(":")[0] in BUILDERS:
        from backends.onnxruntime.engine_cache import engine_cache

        with as_opened(model if isinstance(model, Path) else model.file) as file:
            cache = engine_cache(file, engine or EngineOptions())
    runner = OnnxRuntimeRunner(
        model,
        *_tensors(manifest),
        defaults=manifest.defaults,
        provider=provider,
        threads=threads if threads is not None else manifest.threads,
        engine=engine,
        cache=cache,
        in_floats=in_floats,
    )
    _check_classes(runner, manifest)
    return runner


def _check_classes(runner: "OnnxRuntimeRunner", manifest: Manifest) -> None:
    """The graph says of itself how many classes it has, where zooport exported it."""
    try:
        count = len(json.loads(runner.metadata.get(CLASSES, "null")))
    except (RecursionError, TypeError, ValueError):
        return
    if count != len(manifest.classes):
        raise InputError(
            f"{runner.path}: its graph has {count} classes, and {MANIFEST_FILE} describes {len(manifest.classes)}; "
            f"{COPY_AGAIN}"
        )


def open_tensorrt(folder: OpenedFolder, manifest: Manifest, provider: str | None, cuda_graph: bool) -> Runner:
    """The runner of the folder's engine, whose record must fit this machine. Raises as `load` does."""
    from backends.tensorrt.cuda import device_number
    from backends.tensorrt.engine_record import EngineRecord, check_record
    from backends.tensorrt.gpu import gpu
    from backends.tensorrt.library import library
    from backends.tensorrt.runner import TensorRTRunner
    from backends.tensorrt.running import can_run

    device = provider if provider is not None else manifest.provider or "cuda:0"
    backend, plan = manifest.backend, folder.file(ENGINE_FILE)
    here = gpu(device_number(device))
    record = EngineRecord.read(folder.file(RECORD_FILE))
    check_record(
        record,
        plan,
        folder.file(ONNX_FILE),
        backend,
        library(backend).__version__,
        None if here is None else here.name,
        None if here is None else here.capability,
    )
    reason = can_run(backend, device)
    if reason is not None:
        verdict = manifest.parity["verdict"] or "not measured"
        raise BackendUnavailableError(
            f"{folder.path}: its engine of {backend} (parity: {verdict}) cannot run here: {reason}; load it where it "
            f"can, or deploy the model again with --backend onnxruntime, which runs {ONNX_FILE}"
        )
    return TensorRTRunner(
        plan,
        *_tensors(manifest),
        backend=backend,
        defaults=manifest.defaults,
        device=device,
        cuda_graph=cuda_graph,
        host_code=record.options.version_compatible,
    )


def _tensors(manifest: Manifest) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...], Mapping[str, AxisRange]]:
    """Inputs, outputs and axes of the file: the manifest's, or those of one window where the backend cuts windows."""
    if manifest.windows is None:
        return manifest.inputs, manifest.outputs, manifest.axes
    crop = manifest.windows.crop_size
    inputs = (TensorSpec(IMAGES.name, "float32", ("batch", CHANNELS, *crop)),)
    outputs = (TensorSpec(LOGITS, "float32", ("batch", len(manifest.classes), *crop)),)
    return inputs, outputs, {"batch": AxisRange(1, 1, manifest.windows.batch)}
