"""From an ONNX file's bytes to a model compiled for a device, with our settings and our errors."""

from pathlib import Path
from typing import Any, NamedTuple

import openvino

from backends.openvino.compiled_cache import CompiledCache
from backends.openvino.devices import hint, openvino_name
from backends.openvino.free_inputs import with_free_inputs
from backends.openvino.quantised import guard_quantised
from backends.threads import default_threads
from zoo.errors import BackendUnavailableError, ExportError, InputError

# The only one of the process. The CPU plugin of a core gives its thread a stack for signals, and gives the former one
# back when the core goes. Where two go in the order in which they came, the thread is left with freed memory: the next
# signal with a handler (Ctrl-C, a child that ends) ends the process without a word. Seen with OpenVINO 2026.4.1.
CORE = openvino.Core()
NOT_A_MODEL = ("Unable to read the model", "Model file is empty", "can't parse", "can not be parsed")


class Settings(NamedTuple):
    """``device``: as people write it. ``precision``: of the file. ``threads``: of a call on the CPU, None for this
    process's.

    ``workers``: how many calls run at the same time on the CPU, each on threads of its own.
    """

    device: str = "cpu"
    precision: str = "fp32"
    threads: int | None = None
    workers: int = 1

    def properties(self) -> dict[str, Any]:
        """OpenVINO's. Threads are not pinned to cores: other processes would be pinned to the same ones."""
        shared: dict[str, Any] = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": hint(self.device, self.precision),
        }
        if self.device != "cpu":
            return shared
        threads = default_threads() if self.threads is None else self.threads
        streams = {"NUM_STREAMS": self.workers} if self.workers > 1 else {}  # with one, calls wait for each other
        threads *= self.workers
        return shared | streams | {"INFERENCE_NUM_THREADS": threads, "ENABLE_CPU_PINNING": False}


def device_here(device: str) -> str:
    """OpenVINO's name of the device. Raises InputError for no device's name, BackendUnavailableError without it."""
    name = openvino_name(device)
    here = CORE.available_devices
    if name != "AUTO" and not any(name in (one, one.partition(".")[0], f"{one}.0") for one in here):
        raise BackendUnavailableError(
            f"device {device}: OpenVINO {openvino.get_version()} finds {', '.join(here) or 'none'} here; give --device "
            "cpu, or install the device's driver"
        )
    return name


def compiled(
    path: Path, content: bytes, settings: Settings, source: str | None = None, cache: CompiledCache | None = None
) -> openvino.CompiledModel:
    """The model compiled for the device. ``path``: for messages. ``source``: a path whose folder has external data.

    Raises InputError where the bytes are no ONNX model, ExportError where OpenVINO refuses it, and
    BackendUnavailableError where the device is not here.
    """
    name, properties = device_here(settings.device), settings.properties()
    if cache is not None and (kept := cache.read(CORE, name, properties)) is not None:
        return kept
    try:
        model = CORE.read_model(with_free_inputs(content) if source is None else source)
        if settings.precision == "int8":
            guard_quantised(model)
        made = CORE.compile_model(model, name, properties)
    except (RuntimeError, ValueError, IndexError) as error:
        raise _refusal(path, content, error) from error
    if cache is not None:
        cache.keep(made, CORE, name, properties)
    return made


def _refusal(path: Path, content: bytes, error: Exception) -> InputError | ExportError:
    """OpenVINO's words without its source files, on one line."""
    lines = [line.strip() for line in str(error).splitlines()]
    reason = " ".join(line for line in lines if line and not line.startswith(("Exception from src/", "Check '")))
    if isinstance(error, ValueError | IndexError) or any(words in str(error) for words in NOT_A_MODEL):
        return InputError(
            f"{path}: not an ONNX model, or a damaged one ({len(content)} bytes; OpenVINO: {reason}); export or copy "
            "it again"
        )
    return ExportError(f"{path}: OpenVINO {version()} refuses it: {reason or error}")


def version() -> str:
    """Of the runtime, without its build: "2026.4.1"."""
    return str(openvino.get_version()).partition("-")[0]
