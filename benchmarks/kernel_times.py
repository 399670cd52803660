"""Where a runtime's time goes: milliseconds of each kind of node in one run, as its own profile has them."""

import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from backends.benchmark.bursts import PAUSE

WARM_UP, RUNS = 3, 10
Times = Mapping[str, float]
"""Milliseconds by kind of node."""


def onnxruntime_times(paths: Mapping[str, Path], feed: Mapping[str, Any], threads: int) -> dict[str, Times]:
    """Of each file, by operator; the sessions run in turns. The median of RUNS runs of each node, after WARM_UP."""
    with tempfile.TemporaryDirectory() as folder:
        sessions = {name: _profiled(path, Path(folder) / name, threads) for name, path in paths.items()}
        for _ in range(WARM_UP + RUNS):
            for session in sessions.values():
                time.sleep(PAUSE)
                session.run(None, dict(feed))
        return {name: _milliseconds(Path(session.end_profiling())) for name, session in sessions.items()}


def openvino_times(models: Mapping[str, Any], feed: Mapping[str, Any]) -> dict[str, Times]:
    """Of each compiled model, which counts (PERF_COUNT), by OpenVINO's type of node. The mean of RUNS runs."""
    times: dict[str, dict[str, float]] = {}
    for name, model in models.items():
        request = model.create_infer_request()
        times[name] = defaultdict(float)
        for number in range(WARM_UP + RUNS):
            request.infer(dict(feed))
            if number >= WARM_UP:
                for node in request.profiling_info:
                    times[name][node.node_type] += node.real_time.total_seconds() * 1000 / RUNS
    return dict(times)


def shares(times: Times, kinds: Sequence[str] = (), most: int = 3) -> str:
    """The kinds that take most of the time, each with its part of it; `kinds` first."""
    total = sum(times.values())
    chosen = [kind for kind in kinds if times.get(kind)]
    chosen += [kind for kind in sorted(times, key=lambda kind: -times[kind]) if kind not in chosen][:most]
    return ", ".join(f"{kind} {times[kind] / total:.2f}" for kind in chosen)


def _profiled(path: Path, prefix: Path, threads: int) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    options.enable_profiling = True
    options.profile_file_prefix = str(prefix)
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _milliseconds(profile: Path) -> Times:
    """The median run of each node after the warm-up, summed by operator."""
    seconds: dict[tuple[str, str], list[float]] = {}
    for event in json.loads(profile.read_text(encoding="utf-8")):
        if event["name"].endswith("_kernel_time"):
            seconds.setdefault((event["args"]["op_name"], event["name"]), []).append(event["dur"] / 1000)
    times: dict[str, float] = defaultdict(float)
    for (operator, _), values in seconds.items():
        runs = max(len(values) // (WARM_UP + RUNS), 1)  # a node of a loop runs several times
        times[operator] += float(np.median(values[WARM_UP * runs :])) * runs
    return times
