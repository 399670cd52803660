"""From a deployment's folder to a model that runs."""

import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from backends.availability import require
from backends.deployment import Deployment
from backends.runner import Runner
from backends.self_test.proof import lacking, warn_once
from backends.slide_runner import LOGITS, Progress, SlideRunner
from zoo.engine_options import EngineOptions
from zoo.errors import BackendUnavailableError, InputError
from zoo.input_specs import IMAGES
from zoo.manifest import ENGINE_FILE, MANIFEST_FILE, ONNX_FILE, RECORD_FILE, SELF_TEST_FILE, Manifest
from zoo.preprocess import CHANNELS
from zoo.target import ENGINE_BACKENDS, AxisRange
from zoo.tensor_spec import TensorSpec


def load(
    path: str | os.PathLike[str],
    *,
    provider: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    engine: EngineOptions | None = None,
    cuda_graph: bool = False,
    check: bool = False,
) -> Deployment:
    """Load the deployment in the folder `path`, as tools/deploy.py wrote it.

    `provider` ("cpu", "cuda", "cuda:1", "tensorrt" ...; for an engine of TensorRT the device, "cuda:0") and `threads`
    replace what the manifest says; without either, the CPU and all CPUs that this process may use, or the first GPU for
    an engine, which has no use for threads. `progress` is called with (windows done, windows of the image) where the
    deployment cuts images into windows. `engine`: how ONNX Runtime's providers tensorrt and tensorrt-rtx build; what
    they build is kept in zooport's cache folder. `cuda_graph`: of an engine, see TensorRTRunner.
    `check`: also run the self-test that the deployment carries, see Deployment.check. An int8 deployment that was
    proved with instruction sets or a version that this machine lacks is logged as a warning, once. Raises InputError
    where the folder or a file of it is missing, changed or of an unknown schema version, the backend unknown, the
    engine one of another version or GPU, or an option not one of this backend; BackendUnavailableError where the
    backend or provider is not here, or an engine cannot run here.
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
    has_engine = manifest.backend in ENGINE_BACKENDS
    if has_engine and engine is not None:
        raise InputError(f"{folder}: its engine is built already; leave engine out, or deploy it again with --engine")
    if cuda_graph and not has_engine:
        raise InputError(f"{folder}: cuda_graph with backend {manifest.backend}, which has no engine; leave it out")
    for name in (ONNX_FILE, ENGINE_FILE, RECORD_FILE) if has_engine else (ONNX_FILE,):
        if name not in manifest.files:
            raise InputError(f"{folder / MANIFEST_FILE}: files: no {name}, which backend {manifest.backend} loads")

    def open_runner() -> Runner:
        if has_engine:
            return _open_tensorrt(folder, manifest, provider, cuda_graph)
        return _open_onnxruntime(folder / ONNX_FILE, manifest, provider, threads, engine)

    runner = _verified(folder, manifest, open_runner)
    deployment = Deployment(manifest, _with_windows(runner, manifest, progress), self_test=_self_test(folder, manifest))
    return _proved(deployment, check=check)


def _proved(deployment: Deployment, *, check: bool) -> Deployment:
    """The deployment, after a word on a machine that lacks something of its proof, and its self-test where asked."""
    if (message := lacking(deployment.manifest)) is not None:
        warn_once(message)
    if check:
        try:
            deployment.check()
        except BaseException:
            deployment.close()
            raise
    return deployment


def load_graph(
    path: str | os.PathLike[str], note: str, onnx_path: Path | None = None, threads: int | None = None
) -> Deployment:
    """The ONNX file of a deployment in ONNX Runtime on the CPU, whichever backend the deployment is for.

    For proofs: where an engine cannot run, the very same graph still can. What is for an engine runs in floats, rounded
    where the graph rounds: its int8 has weights of 8 bits, with which ONNX Runtime's kernels saturate on some CPUs.
    `note`: the deployment's, which says so.
    `onnx_path`: another form of the file; `threads`: as of `load`. Raises as `load` does.
    """
    folder = Path(path)
    manifest = Manifest.read(folder)
    file = onnx_path or folder / ONNX_FILE
    in_floats = manifest.backend in ENGINE_BACKENDS
    runner = _verified(folder, manifest, lambda: _open_onnxruntime(file, manifest, "cpu", threads, in_floats=in_floats))
    return Deployment(manifest, _with_windows(runner, manifest), note, _self_test(folder, manifest))


def _self_test(folder: Path, manifest: Manifest) -> bytes | None:
    """The content of the self-test, whose hash is right; None where the deployment has none."""
    return (folder / SELF_TEST_FILE).read_bytes() if SELF_TEST_FILE in manifest.files else None


def _with_windows(runner: Runner, manifest: Manifest, progress: Progress | None = None) -> Runner:
    """A runner of whole images, where that of the file takes windows."""
    if manifest.windows is None:
        return runner
    windows = manifest.windows
    return SlideRunner(runner, windows, manifest.inputs, manifest.outputs, manifest.axes, progress=progress)


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


def _open_onnxruntime(
    path: Path,
    manifest: Manifest,
    provider: str | None,
    threads: int | None,
    engine: EngineOptions | None = None,
    *,
    in_floats: bool = False,
) -> Runner:
    from backends.onnxruntime import OnnxRuntimeRunner
    from backends.onnxruntime.providers import BUILDERS, short_name

    provider = provider if provider is not None else manifest.provider or "cpu"
    cache = None
    if short_name(provider).partition(":")[0] in BUILDERS:
        from backends.onnxruntime.engine_cache import engine_cache

        cache = engine_cache(path, engine or EngineOptions())
    return OnnxRuntimeRunner(
        path,
        *_tensors(manifest),
        defaults=manifest.defaults,
        provider=provider,
        threads=threads if threads is not None else manifest.threads,
        engine=engine,
        cache=cache,
        in_floats=in_floats,
    )


def _open_tensorrt(folder: Path, manifest: Manifest, provider: str | None, cuda_graph: bool) -> Runner:
    from backends.tensorrt.cuda import device_number
    from backends.tensorrt.engine_record import EngineRecord, check_record
    from backends.tensorrt.gpu import gpu
    from backends.tensorrt.library import library
    from backends.tensorrt.runner import TensorRTRunner
    from backends.tensorrt.running import can_run

    device = provider if provider is not None else manifest.provider or "cuda:0"
    backend, plan = manifest.backend, folder / ENGINE_FILE
    here = gpu(device_number(device))
    record = EngineRecord.read(folder / RECORD_FILE)
    check_record(
        record,
        plan,
        folder / ONNX_FILE,
        backend,
        library(backend).__version__,
        None if here is None else here.name,
        None if here is None else here.capability,
    )
    reason = can_run(backend, device)
    if reason is not None:
        verdict = manifest.parity["verdict"] or "not measured"
        raise BackendUnavailableError(
            f"{folder}: its engine of {backend} (parity: {verdict}) cannot run here: {reason}; load it where it can, "
            f"or deploy the model again with --backend onnxruntime, which runs {ONNX_FILE}"
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
