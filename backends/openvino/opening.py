"""From ONNX files to runners of OpenVINO."""

import hashlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from backends.backend import LoadOptions
from backends.external_data import external_files, listed_name
from backends.file_tensors import file_tensors
from backends.openvino import free_inputs, quantised
from backends.openvino.compiled_cache import CompiledCache
from backends.openvino.compiling import Settings, compiled
from backends.openvino.free_inputs import with_free_inputs
from backends.openvino.runner import OpenVINORunner
from zoo.errors import InputError
from zoo.manifest import ONNX_FILE, Manifest
from zoo.notices import notice
from zoo.opened_file import OpenedFile
from zoo.opened_folder import OpenedFolder
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec


def open_deployed(folder: OpenedFolder, manifest: Manifest, options: LoadOptions) -> OpenVINORunner:
    """The runner of the file's tensors. Raises as `load` does."""
    threads = options.threads if options.threads is not None else manifest.threads
    device = options.provider if options.provider is not None else manifest.provider or "cpu"
    settings = Settings(
        device, manifest.precision["stored"], options.call_threads(manifest), workers=options.workers or 1
    )
    if threads is not None and device != "cpu":
        notice(f"{folder.path}: threads={threads} has no effect on device {device}; leave it out")
    file = folder.file(ONNX_FILE)
    external = {name: folder.file(listed_name(name)) for name in external_files(file, manifest.files)}
    kept = None
    if options.cache is not None:
        hashes = [code_sha256(), file.sha256(), *(external[name].sha256() for name in sorted(external))]
        kept = CompiledCache(options.cache, hashlib.sha256(" ".join(hashes).encode()).hexdigest())
    with _beside(file, external) as source:
        model = compiled(file.path, file.read(), settings, source, kept)
    return OpenVINORunner(file.path, model, settings, *file_tensors(manifest), defaults=manifest.defaults)


def open_file(
    path: Path,
    device: str = "cpu",
    precision: str = "fp32",
    inputs: Sequence[TensorSpec] | None = None,
    outputs: Sequence[TensorSpec] | None = None,
    axes: Mapping[str, AxisRange] | None = None,
    threads: int | None = None,
) -> OpenVINORunner:
    """The runner of a bare file. Raises InputError where it is missing, and as `compiled` does."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; give the path of an ONNX model")
    settings = Settings(device, precision, threads)
    return OpenVINORunner(path, compiled(path, path.read_bytes(), settings), settings, inputs, outputs, axes)


@cache
def code_sha256() -> str:
    """Of the code that changes a model before it is compiled: what another zooport compiled is compiled again."""
    try:
        sources = [inspect.getsource(module) for module in (free_inputs, quantised)]
    except OSError:  # of compiled modules alone there are none
        from zoo.installed_versions import installed_versions

        sources = [repr(installed_versions(("zooport",)))]
    return hashlib.sha256("".join(sources).encode()).hexdigest()


@contextmanager
def _beside(file: OpenedFile, external: Mapping[str, OpenedFile]) -> Iterator[str | None]:
    """A path of the file, with the files that it reads weights from beside it; None where there are none.

    They are copies of what is held open and was hashed: OpenVINO follows no link out of the file's folder.
    """
    if not external:
        yield None
        return
    with TemporaryDirectory(prefix="zooport-openvino-") as scratch:
        for name, held in external.items():
            place = Path(scratch) / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(held.read())
        path = Path(scratch) / ONNX_FILE
        path.write_bytes(with_free_inputs(file.read()))
        yield str(path)
