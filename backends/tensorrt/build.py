"""An engine of an ONNX file, built in a process of its own, so that what native code does there is an error message."""

import fcntl
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from backends.tensorrt.bounded_process import Ended, Limit, run_bounded
from backends.tensorrt.build_request import BuildRequest
from backends.tensorrt.engine_record import EngineRecord, record_path
from backends.tensorrt.option_check import check_options
from backends.tensorrt.profiles import profiles
from backends.tensorrt.refused import EngineRefusedError
from zoo.engine_options import EngineOptions
from zoo.errors import BackendUnavailableError, ExportError, InputError
from zoo.manifest import file_record
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

COMMAND = (sys.executable, "-P", "-m", "backends.tensorrt.building")


def build_engine(
    onnx_path: str | os.PathLike[str],
    plan_path: str | os.PathLike[str],
    backend: str,
    options: EngineOptions,
    inputs: Sequence[TensorSpec],
    axes: Mapping[str, AxisRange],
    values: Mapping[str, AxisRange] | None = None,
) -> EngineRecord:
    """Build an engine for `backend` ("tensorrt", "tensorrt-rtx") of the ONNX file; write it and its record beside it.

    `inputs` and `axes`: the graph's inputs and the bounds of their dynamic axes. `values`: the range of the values of
    each input that decides shapes, such as a scale. Both files are written whole or not at all.
    Raises EngineRefusedError where TensorRT does not take the graph or its native code aborts; ExportError at the time
    or memory limit, or where the process is killed; InputError for an option that the backend does not have, and for a
    file that cannot be read or written; BackendUnavailableError without the library, or without the GPU it needs.
    """
    onnx, plan = Path(onnx_path).absolute(), Path(plan_path).absolute()
    check_options(backend, options)
    shapes = profiles(inputs, axes, options.batches)
    bounds = {name: (bound.min, bound.opt, bound.max) for name, bound in (values or {}).items()}
    onnx_sha256 = file_record(onnx)["sha256"]
    try:
        with tempfile.TemporaryDirectory(dir=plan.parent, prefix=f".{plan.name}-") as scratch:
            request = BuildRequest(
                backend=backend,
                onnx=str(onnx),
                plan=str(Path(scratch, "plan")),
                answer=str(Path(scratch, "answer")),
                parent=os.getpid(),
                options=options,
                profiles=shapes,
                values=bounds,
            )
            ended = run_bounded(COMMAND, request.to_json(), options.timeout_seconds, options.memory_limit_mib)
            built = _built(request, ended)
            record = EngineRecord(
                backend=backend, options=options, profiles=shapes, values=bounds, onnx_sha256=onnx_sha256, **built
            )
            record.write(Path(scratch, "record"))
            with _locked(plan.parent):  # two builds of one plan: the files of one, not one of each
                Path(scratch, "plan").replace(plan)
                Path(scratch, "record").replace(record_path(plan))
    except OSError as error:
        raise InputError(f"{plan}: cannot be written ({error.strerror}); make room, or give another folder") from error
    return record


def _built(request: BuildRequest, ended: Ended) -> dict[str, Any]:
    """What the process answered, as fields of the record. Raises what became of it."""
    options = request.options
    if ended.status is Limit.MEMORY:
        raise ExportError(
            f"the build of {request.onnx} took more than {options.memory_limit_mib} MiB of memory and was ended; raise "
            "the engine option memory_limit_mib, or give a smaller range of shapes"
        )
    if ended.status is Limit.TIME:
        raise ExportError(
            f"the build of {request.onnx} took longer than {options.timeout_seconds} s and was ended; raise the engine "
            "option timeout_seconds"
        )
    try:
        answer = json.loads(Path(request.answer).read_bytes())
    except (FileNotFoundError, ValueError):
        raise _no_answer(request, ended.status, ended.output) from None
    if "built" in answer:
        built: dict[str, Any] = {**answer["built"], "warnings": tuple(answer["built"]["warnings"])}
        return built
    if answer["fault"] == "memory":
        raise _out_of_memory(request)
    if answer["fault"] == "refused":
        raise EngineRefusedError(answer["node"], answer["operator"], answer["reason"])
    if answer["fault"] == "unavailable":
        raise BackendUnavailableError(answer["message"])
    raise InputError(answer["message"])


def _no_answer(request: BuildRequest, status: int, output: str) -> ExportError:
    """Why the process ended without an answer."""
    lines = output.strip().splitlines()
    said = f"; the last it said: {lines[-1].strip()}" if lines else ""
    if "bad_alloc" in output:
        return _out_of_memory(request)
    if status == -signal.SIGKILL:
        return ExportError(
            f"the build of {request.onnx} was killed, most likely because the machine ran out of memory{said}; close "
            "other programs, or give a smaller range of shapes"
        )
    if status < 0:
        return EngineRefusedError(None, None, f"its native code failed with {signal.Signals(-status).name}{said}")
    return ExportError(f"the build of {request.onnx} ended with exit status {status} and no engine{said}")


def _out_of_memory(request: BuildRequest) -> ExportError:
    return ExportError(
        f"the build of {request.onnx} ran out of the machine's memory; close other programs, or give a smaller range "
        "of shapes"
    )


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One writer at a time: the kernel's lock of the folder itself, so that no file of ours is left in it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
