"""An engine of an ONNX file, built in a process of its own, so that what native code does there is an error message."""

import errno
import json
import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from backends.engine_options import EngineOptions
from backends.gpu import seeing_only
from backends.profiles import profiles
from backends.tensorrt.bounded_process import Ended, Limit, run_bounded
from backends.tensorrt.cuda import device_number
from backends.tensorrt.engine_record import EngineRecord, record_path
from backends.tensorrt.engine_request import EngineRequest
from backends.tensorrt.option_check import check_options
from backends.tensorrt.refused import EngineRefusedError
from backends.tensorrt.scratch import scratch_folder
from zoo.errors import BackendUnavailableError, ExportError, InputError
from zoo.files.locks import locked
from zoo.files.writing import sync
from zoo.manifest import file_record
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

COMMAND = (sys.executable, "-P", "-m", "backends.tensorrt.building")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

logger = logging.getLogger(__name__)


class BuiltEngine(NamedTuple):
    """The record that lies beside a plan, and how long the build took, without the start of its process."""

    record: EngineRecord
    seconds: float


def build_engine(
    onnx_path: str | os.PathLike[str],
    plan_path: str | os.PathLike[str],
    backend: str,
    options: EngineOptions,
    inputs: Sequence[TensorSpec],
    axes: Mapping[str, AxisRange],
    values: Mapping[str, AxisRange] | None = None,
    *,
    precision: str,
    device: str = "cuda:0",
) -> BuiltEngine:
    """Build an engine for `backend` ("tensorrt", "tensorrt-rtx") of the ONNX file; write it and its record beside it.

    `inputs` and `axes`: the graph's inputs and the bounds of their dynamic axes. `values`: the range of the values of
    each input that decides shapes, such as a scale. `precision`: what the graph was brought to, for the record.
    `device`: the GPU to build on, where there is one. Both files are written whole or not at all; warnings of the build
    go to logging.
    Raises EngineRefusedError where TensorRT does not take the graph or its native code aborts; ExportError at the time
    or memory limit, or where the process is killed; InputError for an option that the backend does not have, and for a
    file that cannot be read or written; BackendUnavailableError without the library, or without the GPU it needs.
    """
    onnx, plan = Path(onnx_path).absolute(), Path(plan_path).absolute()
    check_options(backend, options)
    shapes = profiles(inputs, axes, options.batches)
    bounds = {name: (bound.min, bound.opt, bound.max) for name, bound in (values or {}).items()}
    onnx_sha256 = file_record(onnx)["sha256"]
    visible = seeing_only(device_number(device))
    try:
        with scratch_folder(plan) as scratch:
            request = EngineRequest(
                backend=backend,
                onnx=str(onnx),
                plan=str(scratch / "plan"),
                parent=os.getpid(),
                options=options,
                profiles=shapes,
                values=bounds,
            )
            built = _built(onnx.name, options, _run(request, visible))
            record = EngineRecord(
                backend=backend,
                precision=precision,
                options=options,
                profiles=shapes,
                values=bounds,
                onnx_sha256=onnx_sha256,
                **built["record"],
            )
            record.write(scratch / "record")
            with locked(plan.parent):  # two builds of one plan: the files of one, not one of each
                (scratch / "plan").replace(plan)
                (scratch / "record").replace(record_path(plan))
                sync(plan.parent)
    except OSError as error:
        cure = "make room, or give another folder" if error.errno in FULL else "give a folder that can be written"
        raise InputError(f"{plan}: cannot be written ({error.strerror}); {cure}") from error
    return BuiltEngine(record, built["seconds"])


def _run(request: EngineRequest, visible: Mapping[str, str]) -> Ended:
    """The process of the build, once it has ended."""
    options = request.options
    try:
        return run_bounded(COMMAND, request.to_json(), options.timeout_seconds, options.memory_limit_mib, visible)
    except OSError as error:
        raise ExportError(f"the process of the build cannot be started ({error.strerror})") from error


def _built(name: str, options: EngineOptions, ended: Ended) -> dict[str, Any]:
    """What the process answered of the ONNX file `name`: the record's fields, and the seconds. Its warnings are logged.

    Raises what became of it.
    """
    if ended.status is Limit.MEMORY:
        raise ExportError(
            f"the build of {name} took more than {options.memory_limit_mib} MiB of memory and was stopped; raise the "
            "engine option memory_limit_mib, or give a smaller range of shapes"
        )
    if ended.status is Limit.TIME:
        raise ExportError(
            f"the build of {name} took longer than {options.timeout_seconds} s and was stopped; raise the engine "
            "option timeout_seconds"
        )
    try:
        answer = json.loads(ended.answer)
    except ValueError:
        raise _no_answer(name, ended.status, ended.said) from None
    for warning in answer["reported"]:
        logger.warning("%s", warning)
    if "fault" in answer:
        _raise_fault(name, answer)
    built: dict[str, Any] = answer["built"]
    built["record"]["warnings"] = tuple(built["record"]["warnings"])
    return built


def _raise_fault(name: str, answer: Mapping[str, Any]) -> NoReturn:
    fault = answer["fault"]
    if fault == "memory":
        raise _out_of_memory(name)
    if fault == "refused":
        raise EngineRefusedError(answer["node"], answer["operator"], answer["reason"])
    if fault == "unavailable":
        raise BackendUnavailableError(answer["message"])
    if fault == "input":
        raise InputError(answer["message"])
    if fault == "unwritten":
        raise OSError(answer["errno"], os.strerror(answer["errno"]))
    raise ExportError(f"the build of {name} failed: {answer['message']}")


def _no_answer(name: str, status: int, output: str) -> ExportError:
    """Why the process ended without an answer."""
    lines = output.strip().splitlines()
    said = f"; its last message: {lines[-1].strip()}" if lines else ""
    if "bad_alloc" in output:
        return _out_of_memory(name)
    if status == -signal.SIGKILL:
        return ExportError(
            f"the build of {name} was killed, most likely because the machine ran out of memory{said}; close "
            "other programs, or give a smaller range of shapes"
        )
    if status < 0:
        return EngineRefusedError(None, None, f"its native code failed with {signal.Signals(-status).name}{said}")
    return ExportError(f"the build of {name} ended with exit status {status} and no engine{said}")


def _out_of_memory(name: str) -> ExportError:
    return ExportError(
        f"the build of {name} ran out of the machine's memory; close other programs, or give a smaller range of shapes"
    )
