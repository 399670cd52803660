"""The process that builds one engine: python -m backends.tensorrt.building, with an EngineRequest on stdin.

Native code can abort it, so it is a process of its own. It writes the plan and, last, its answer to stdout: a JSON
object {"built": {...}} or {"fault": class, ...}, with what was "reported" of the build. What native code prints goes to
stderr. Exit status 0 where there is an answer.
"""

import hashlib
import json
import logging
import os
import sys
import time
from pathlib import Path
from typing import Any

from backends.gpu import gpu
from backends.tensorrt.build_check import check_machine
from backends.tensorrt.build_timings import keep_timings, use_timings
from backends.tensorrt.builder_config import add_profiles, configure
from backends.tensorrt.engine_request import EngineRequest
from backends.tensorrt.layers import layer_counts
from backends.tensorrt.library import library
from backends.tensorrt.network import new_network, node_named_in, parse
from backends.tensorrt.parent_death import die_with
from backends.tensorrt.refused import EngineRefusedError
from backends.tensorrt.run_log import run_log
from zoo.errors import BackendUnavailableError, InputError
from zoo.files.writing import write_synced

OUT_OF_MEMORY = "bad_alloc"  # how C++ says it


class Reported(logging.Handler):
    """Keeps the lines that are logged."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one."""
        self.lines.append(record.getMessage())


def main() -> int:
    """Answer the request on stdin."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        reported = Reported()
        logging.basicConfig(handlers=[reported])
        request = EngineRequest.from_json(sys.stdin.read())
        die_with(request.parent)
        json.dump({**answer(request), "reported": reported.lines}, answers)
    return 0


def answer(request: EngineRequest) -> dict[str, Any]:
    """What came of the request."""
    try:
        return {"built": build(request)}
    except EngineRefusedError as error:
        memory = OUT_OF_MEMORY in error.reason
        refusal = {"node": error.node, "operator": error.operator, "reason": error.reason}
        return {"fault": "memory"} if memory else {"fault": "refused", **refusal}
    except MemoryError:
        return {"fault": "memory"}
    except (BackendUnavailableError, InputError) as error:
        return {"fault": "input" if isinstance(error, InputError) else "unavailable", "message": str(error)}
    except OSError as error:  # of the plan: what else is read or written, tells its own faults
        return {"fault": "unwritten", "errno": error.errno}
    except Exception as error:  # noqa: BLE001 - of the library's bindings, mostly: a line, and no traceback
        first = str(error).partition("\n")[0]
        return {"fault": "failed", "message": f"{type(error).__name__}: {first}"}


def build(request: EngineRequest) -> dict[str, Any]:
    """Write the plan. Gives what the record needs of it, and the seconds."""
    trt = library(request.backend)
    here = gpu()
    check_machine(request.backend, request.options, here)
    begun = time.perf_counter()
    log = run_log(trt)
    builder = trt.Builder(log)
    network = new_network(trt, request.backend, builder)
    config = builder.create_builder_config()
    if network is None or config is None:
        raise EngineRefusedError(None, None, _reason(log))
    parser = parse(trt, network, log, request.onnx)
    configure(trt, config, request.backend, request.options)
    add_profiles(builder, config, network, request.profiles, request.values)
    timings = use_timings(trt, config, request.backend, request.options, here)
    counts = layer_counts(trt, network)
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        reason = _reason(log)
        raise EngineRefusedError(node_named_in(network, reason), None, reason)
    del parser  # it owns the weights until here
    content = memoryview(plan)
    write_synced(Path(request.plan), content)
    if timings is not None:  # once the plan is safe
        keep_timings(config, timings)
    record = {
        "plan_sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "library_version": trt.__version__,
        "device": None if here is None else here.name,
        "layers": dict(counts),
        "warnings": log.warnings,
    }
    return {"record": record, "seconds": round(time.perf_counter() - begun, 3)}


def _reason(log: Any) -> str:
    return "; ".join(log.errors) or "the builder gave no reason"


if __name__ == "__main__":
    sys.exit(main())
