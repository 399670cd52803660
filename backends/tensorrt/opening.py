"""From a deployment's files, held open, to an engine that runs."""

from backends import gpu
from backends.backend import Backend, LoadOptions
from backends.file_tensors import file_tensors
from backends.runner import Runner
from backends.tensorrt import library, runner
from backends.tensorrt.cuda import device_number
from backends.tensorrt.engine_record import EngineRecord, check_record
from backends.tensorrt.files import ENGINE_FILE, RECORD_FILE
from zoo.errors import BackendUnavailableError
from zoo.manifest import ONNX_FILE, Manifest
from zoo.opened_folder import OpenedFolder
from zoo.target import DEFAULT_BACKEND


def open_engine(backend: Backend, folder: OpenedFolder, manifest: Manifest, options: LoadOptions) -> Runner:
    """The runner of the folder's engine, whose record must fit this machine. Raises as `load` does."""
    device = options.provider if options.provider is not None else manifest.provider or backend.device("cpu")
    name, plan = backend.name, folder.file(ENGINE_FILE)
    here = gpu.gpu(device_number(device))
    record = EngineRecord.read(folder.file(RECORD_FILE))
    check_record(
        record,
        plan,
        folder.file(ONNX_FILE),
        name,
        library.library(name).__version__,
        None if here is None else here.name,
        None if here is None else here.capability,
    )
    reason = backend.can_run(device)
    if reason is not None:
        verdict = manifest.parity["verdict"] or "not measured"
        raise BackendUnavailableError(
            f"{folder.path}: its engine of {name} (parity: {verdict}) cannot run here: {reason}; load it where it "
            f"can, or deploy the model again with --backend {DEFAULT_BACKEND}, which runs {ONNX_FILE}"
        )
    return runner.TensorRTRunner(
        plan,
        *file_tensors(manifest),
        backend=name,
        defaults=manifest.defaults,
        device=device,
        cuda_graph=options.cuda_graph,
        host_code=record.options.version_compatible,
    )
