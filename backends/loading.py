"""From a deployment's folder to a model that runs."""

import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

from backends.availability import require
from backends.backend import Backend, LoadOptions
from backends.deployment import Deployment
from backends.engine_options import EngineOptions
from backends.file_tensors import with_host_part
from backends.load_arguments import check_options, check_path
from backends.registry import get_backend
from backends.runner import Runner
from backends.runner_group import RunnerGroup
from backends.self_test.proof import lacking, warn_once
from backends.threads import default_threads
from zoo.errors import InputError
from zoo.manifest import ONNX_FILE, SELF_TEST_FILE, Manifest
from zoo.opened_folder import MANIFEST_FILE, Folder, OpenedFolder, read_whole
from zoo.printable import printable
from zoo.progress import Progress
from zoo.target import DEFAULT_BACKEND


def load(
    path: Folder,
    *,
    provider: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    engine: EngineOptions | None = None,
    cuda_graph: bool = False,
    check: bool = False,
    cache: str | os.PathLike[str] | None = None,
    workers: int | Literal["auto"] | None = None,
    spin: bool = True,
) -> Deployment:
    """Load the deployment in the folder `path`, as zooport deploy wrote it.

    The result is one deployment, even if a deploy replaces the folder in the meantime.

    `provider` ("cpu", "cuda", "cuda:1", "tensorrt" ...; for a TensorRT engine the device, "cuda:0") and `threads`
    replace the values of the manifest. Without them, the deployment runs on the CPU with all CPUs that this process may
    use, and an engine on the first GPU; engines ignore `threads`. `progress` is called with ("windows", windows done,
    windows of the image) if the deployment cuts images into windows. `engine`: build options of ONNX Runtime's
    providers tensorrt and tensorrt-rtx, whose engines are kept in `cache`. `cuda_graph`: for engines, see
    TensorRTRunner. `cache`: a folder for what the backend compiles while it loads, which makes the next load quick; a
    process that can write there can change what runs. If it is None, ONNX Runtime's providers use zooport's cache
    folder, and OpenVINO keeps nothing. `workers`: how many calls of `submit`, `acall` and `stream` the model makes at
    the same time, in threads of its own. Each call then runs on one thread unless `threads` says otherwise. "auto" is
    as many as CPUs that this process may use, which gives the highest throughput. `spin`: whether the threads of ONNX
    Runtime look for the next call for tens of ms, and take the CPUs meanwhile; False for models that one process calls
    in turns, which then do not slow each other down. `check`: also run the deployment's self-test, see
    Deployment.check. A warning is logged once for an int8 deployment whose proof used instruction sets or a version
    that this machine lacks.

    Raises InputError if the folder or one of its files is missing, changed or of an unknown schema version, if the
    backend is unknown, if the engine is for another version or GPU, or if the backend does not have an option. Raises
    BackendUnavailableError if the backend or provider is not on this machine, or if the engine cannot run here.
    """
    if not isinstance(path, OpenedFolder):
        check_path(path)
    check_options(provider, threads, progress, engine, cuda_graph, check, cache, workers, spin)
    count = default_threads() if isinstance(workers, str) else workers
    kept = None if cache is None else Path(cache).absolute()
    options = LoadOptions(provider, threads, engine, cuda_graph, kept, workers=count, spin=spin)
    return read_whole(path, lambda folder: _named(folder, options, progress, check))


def _named(folder: OpenedFolder, *options: Any) -> Deployment:
    """`_load`, whose errors name the folder in any case, and are one line."""
    try:
        return _load(folder, *options)
    except InputError as error:
        where = "" if str(folder.path) in str(error) else f"{folder.path}: "
        raise InputError(where + printable(str(error))) from error


def _load(folder: OpenedFolder, options: LoadOptions, progress: Progress | None, check: bool) -> Deployment:
    manifest = Manifest.read(folder)
    if manifest.output_level == "plugin":
        raise InputError(
            f"{folder.path}: output level plugin holds nodes that TensorRT's plugins run, and no backend here has "
            f"them; give {ONNX_FILE} to TensorRT with the plugin, or deploy another --output-level"
        )
    backend = get_backend(manifest.backend)
    backend.check_load(manifest, options)
    require(manifest.backend)
    for name in (ONNX_FILE, *backend.files):
        if name not in manifest.files:
            raise InputError(f"{folder.path / MANIFEST_FILE}: files: no {name}, which backend {manifest.backend} loads")
    runner = _verified(folder, manifest, lambda: _opened(backend, folder, manifest, options))
    runner = with_host_part(runner, manifest, options, progress)
    self_test = _self_test(folder, manifest)
    return _proved(Deployment(manifest, runner, self_test=self_test, workers=options.workers), check=check)


def _opened(backend: Backend, folder: OpenedFolder, manifest: Manifest, options: LoadOptions) -> Runner:
    """One runner that threads may share."""
    if backend.concurrent:
        return backend.open(folder, manifest, options)
    with ExitStack() as opened:
        runners = [opened.enter_context(backend.open(folder, manifest, options)) for _ in range(options.workers or 1)]
        opened.pop_all()
    return RunnerGroup(runners)


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


def load_graph(path: Folder, note: str, onnx_path: Path | None = None, threads: int | None = None) -> Deployment:
    """The ONNX file of a deployment in the default backend on the CPU, whichever backend the deployment is for.

    For proofs: where a backend cannot run, the very same graph still can. What is for another backend runs in floats,
    rounded where the graph rounds: its int8 may have weights of 8 bits, with which kernels saturate on some CPUs.
    `note`: the deployment's, which says so.
    `onnx_path`: another form of the file; `threads`: as of `load`. Raises as `load` does.
    """

    def loaded(folder: OpenedFolder) -> Deployment:
        manifest = Manifest.read(folder)
        options = LoadOptions("cpu", threads, onnx_path=onnx_path, in_floats=manifest.backend != DEFAULT_BACKEND)
        backend = get_backend(DEFAULT_BACKEND)
        runner = _verified(folder, manifest, lambda: backend.open(folder, manifest, options))
        runner = with_host_part(runner, manifest, options)
        return Deployment(manifest, runner, note, _self_test(folder, manifest))

    return read_whole(path, loaded)


def load_with(path: Folder, backend: str, options: LoadOptions, note: str) -> Deployment:
    """The ONNX file of a deployment as another backend runs it, which opens the file as it is.

    `note`: the deployment's, which says so. Raises as `load` does.
    """

    def loaded(folder: OpenedFolder) -> Deployment:
        manifest = Manifest.read(folder)
        runner = _verified(folder, manifest, lambda: _opened(get_backend(backend), folder, manifest, options))
        runner = with_host_part(runner, manifest, options)
        return Deployment(manifest, runner, note, _self_test(folder, manifest), options.workers)

    return read_whole(path, loaded)


def _self_test(folder: OpenedFolder, manifest: Manifest) -> bytes | None:
    """The content of the self-test, whose hash is right; None where the deployment has none."""
    return folder.file(SELF_TEST_FILE).read() if SELF_TEST_FILE in manifest.files else None


def _verified(folder: OpenedFolder, manifest: Manifest, open_runner: Callable[[], Runner]) -> Runner:
    """The opened runner, once all hashes are right. Files are hashed while the engine loads them, to save the time.

    A file that changed is the better message, so it also comes where the engine has refused that file. All files are
    opened first, and closed with the folder: from then on it does not matter what happens to their names.
    """
    manifest.open_files(folder)
    faults: list[Exception] = []

    def verify() -> None:
        try:
            manifest.verify(folder)
        except Exception as fault:  # noqa: BLE001 - raised again below, in the caller's thread
            faults.append(fault)

    hashing = threading.Thread(target=verify, name="zooport-verify")
    hashing.start()
    runner: Runner | None = None
    try:
        runner = open_runner()
        return runner
    finally:
        hashing.join()
        if faults:
            if runner is not None:
                runner.close()
            raise faults[0]
