"""The process that builds one engine: python -m backends.tensorrt.building, with a BuildRequest on stdin.

Native code can abort it, so it is a process of its own. It writes the plan and, last, its answer: a JSON object
{"built": {...}} or {"fault": class, ...}. Exit status 0 where there is an answer.
"""

import hashlib
import json
import logging
import os
import sys
import time
from pathlib import Path
from typing import Any

from backends.tensorrt.build_log import build_log
from backends.tensorrt.build_request import BuildRequest
from backends.tensorrt.builder_config import add_profiles, configure
from backends.tensorrt.gpu import Gpu, gpu
from backends.tensorrt.library import library
from backends.tensorrt.network import layer_counts, new_network, node_named_in, parse
from backends.tensorrt.parent_death import die_with
from backends.tensorrt.refused import EngineRefusedError
from backends.tensorrt.timing_cache import merge_timings, read_timings, set_aside, timing_cache_path
from zoo.errors import BackendUnavailableError, InputError

OUT_OF_MEMORY = "bad_alloc"  # how C++ says it


def main() -> int:
    """Answer the request on stdin."""
    logging.basicConfig(format="%(message)s")
    request = BuildRequest.from_json(sys.stdin.read())
    die_with(request.parent)
    Path(request.answer).write_text(json.dumps(answer(request)), encoding="utf-8")
    return 0


def answer(request: BuildRequest) -> dict[str, Any]:
    """What came of the request."""
    try:
        return {"built": build(request)}
    except EngineRefusedError as error:
        memory = OUT_OF_MEMORY in error.reason
        refusal = {"node": error.node, "operator": error.operator, "reason": error.reason}
        return {"fault": "memory"} if memory else {"fault": "refused", **refusal}
    except MemoryError:
        return {"fault": "memory"}
    except BackendUnavailableError as error:
        return {"fault": "unavailable", "message": str(error)}
    except InputError as error:
        return {"fault": "input", "message": str(error)}


def build(request: BuildRequest) -> dict[str, Any]:
    """Write the plan. Gives what the record needs of it."""
    trt = library(request.backend)
    here = gpu()
    if here is None and request.backend == "tensorrt":
        raise BackendUnavailableError("tensorrt builds on a GPU, and there is none here; use backend tensorrt-rtx")
    if here is None and request.options.refittable:
        raise BackendUnavailableError(
            "engine option refittable: tensorrt-rtx compiles such an engine on a GPU, and there is none here; leave it "
            "out, or build where the GPU is"
        )
    begun = time.perf_counter()
    log = build_log(trt)
    builder = trt.Builder(log)
    network = new_network(trt, request.backend, builder)
    parser = parse(trt, network, log, request.onnx)
    config = builder.create_builder_config()
    configure(trt, config, request.backend, request.options)
    add_profiles(builder, config, network, request.profiles, request.values)
    timings = _timing_cache(request, trt, config, here)
    counts = layer_counts(trt, network)
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        reason = "; ".join(log.errors) or "the builder gave no reason"
        raise EngineRefusedError(node_named_in(network, reason), None, reason)
    del parser  # it owns the weights until here
    if timings is not None:
        _keep_timings(config, timings)
    written = _write(Path(request.plan), memoryview(plan))
    return {
        **written,
        "library_version": trt.__version__,
        "device": None if here is None else here.name,
        "layers": dict(counts),
        "seconds": round(time.perf_counter() - begun, 3),
        "warnings": log.warnings,
    }


def _timing_cache(request: BuildRequest, trt: Any, config: Any, here: Gpu | None) -> Path | None:
    """Give the builder the timings of earlier builds. None where there are to be none."""
    if request.backend != "tensorrt" or here is None:
        return None
    if not request.options.timing_cache:
        config.set_flag(trt.BuilderFlag.DISABLE_TIMING_CACHE)
        return None
    path = timing_cache_path(trt.__name__, trt.__version__, here.name)
    cache = config.create_timing_cache(read_timings(path))
    if cache is None or not config.set_timing_cache(cache, ignore_mismatch=False):
        set_aside(path, "TensorRT does not take it")
        cache = config.create_timing_cache(b"")
        config.set_timing_cache(cache, ignore_mismatch=False)
    return path


def _keep_timings(config: Any, path: Path) -> None:
    """Add what this build has measured to the file."""

    def merge(on_disk: bytes) -> bytes:
        cache = config.get_timing_cache()
        if on_disk:
            others = config.create_timing_cache(on_disk)
            cache.combine(others, ignore_mismatch=False)
        return bytes(cache.serialize())

    merge_timings(path, merge)


def _write(path: Path, plan: memoryview) -> dict[str, Any]:
    try:
        with path.open("wb") as file:
            file.write(plan)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(f"the engine of {len(plan)} bytes cannot be written ({error.strerror})") from error
    return {"plan_sha256": hashlib.sha256(plan).hexdigest(), "bytes": len(plan)}


if __name__ == "__main__":
    sys.exit(main())
