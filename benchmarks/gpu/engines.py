"""TensorRT's engines while they run: their latency, those that must be refused, those for another device."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import onnx
import torch
from torch.utils.dlpack import from_dlpack

from backends import load
from backends.engine_options import EngineOptions
from backends.runner import Array
from backends.tensorrt.build import build_engine
from backends.tensorrt.engine_record import EngineRecord, record_path
from backends.tensorrt.files import ENGINE_FILE
from backends.tensorrt.runner import TensorRTRunner
from gpu.contenders import unpatched
from gpu.deployments import made_deployment
from gpu.engine_stand_in import AXES, INPUT, OUTPUTS, AnyStream, stand_in_engine
from gpu.stage import Findings, Place
from gpu.timed import latencies, per_second
from tests.backends.tensorrt.fake_tensorrt import COLUMNS
from zoo.errors import InputError
from zoo.manifest import Manifest, file_record

ROUNDS, CALLS = 15, 200
SIDES = f"float[N, {COLUMNS}]"
TWICE = f'<ir_version: 10, opset_import: ["": 20]> g ({SIDES} x) => ({SIDES} twice) {{twice = Add (x, x)}}'
NO_GPU = "1.0"  # a compute capability
ELSEWHERE: Mapping[str, Callable[[EngineRecord], EngineRecord]] = {
    "another version": lambda record: replace(record, library_version="1.0.0.1"),
    "another backend": lambda record: replace(record, backend="another"),
    "another device": lambda record: replace(
        record, device="another", options=replace(record.options, compute_capabilities=(NO_GPU,))
    ),
}
"""What another machine would have written into an engine's record."""


@contextmanager
def _opened(backend: str, config: str, label: str, place: Place, *, cuda_graph: bool) -> Iterator[TensorRTRunner]:
    if place.rehearsal:
        with stand_in_engine(backend, cuda_graph=cuda_graph) as runner:
            yield runner
        return
    with load(made_deployment(config, place, label), provider=place.device, cuda_graph=cuda_graph) as deployment:
        assert isinstance(deployment.runner, TensorRTRunner)
        yield deployment.runner


def time_engine(backend: str, config: str, label: str, place: Place, findings: Findings) -> None:
    """One engine, with and without CUDA graphs, from numpy and from tensors of the device; from two threads at once."""
    tensors = unpatched(config, place)[1]
    for cuda_graph in (False, True):
        words = ", CUDA graph" if cuda_graph else ""
        with (
            findings.trying(f"run{words}"),
            _opened(backend, config, label, place, cuda_graph=cuda_graph) as runner,
        ):
            needed = [spec for spec in runner.inputs if spec.name not in runner.defaults]
            arrays = {spec.name: tensors[spec.name].numpy() for spec in needed if spec.name in tensors}
            _time(runner, arrays or {INPUT.name: np.ones((1, COLUMNS), np.float32)}, words, place, findings)


def _time(runner: TensorRTRunner, arrays: Mapping[str, Array], words: str, place: Place, findings: Findings) -> None:
    tensors: dict[str, Any] = {name: torch.from_numpy(array).to(place.device) for name, array in arrays.items()}
    if place.rehearsal:
        tensors = {name: AnyStream(tensor) for name, tensor in tensors.items()}
    synchronize = torch.get_device_module(place.device).synchronize
    expected, found = runner.run(arrays), runner.run_device(tensors)
    differences = [_off(from_dlpack(found[name]).cpu().numpy(), expected[name]) for name in expected]
    findings.add({f"run_device off by{words}": max(differences)})

    def on_host() -> None:
        runner.run(arrays)

    def on_device() -> None:
        runner.run_device(tensors)
        synchronize()

    runs = {f"from numpy{words}": on_host, f"on the device{words}": on_device}
    findings.add(latencies(runs, place.some(ROUNDS)))
    one, two = (per_second([on_host] * count, place.some(CALLS)) for count in (1, 2))
    findings.add({f"one thread /s{words}": one, f"two threads /s{words}": two})


def refusals(config: str, label: str, place: Place, findings: Findings) -> None:
    """What `load` says to an engine of another version, of another backend, of another device, and to half of one."""
    folder = made_deployment(config, place, label)
    for name, changed in ELSEWHERE.items():
        with _copied(folder, place) as copy:
            path = record_path(copy / ENGINE_FILE)
            changed(EngineRecord.read(path)).write(path)
            _refused(name, copy, place, findings)
    with _copied(folder, place) as copy:
        plan = copy / ENGINE_FILE
        plan.write_bytes(plan.read_bytes()[: plan.stat().st_size // 2])
        record = EngineRecord.read(record_path(plan))
        replace(record, plan_sha256=file_record(plan)["sha256"]).write(record_path(plan))
        _refused("half of a plan", copy, place, findings)


@contextmanager
def _copied(folder: Path, place: Place) -> Iterator[Path]:
    copy = place.scratch / "refused"
    shutil.copytree(folder, copy)
    try:
        yield copy
    finally:
        shutil.rmtree(copy)


def _refused(name: str, folder: Path, place: Place, findings: Findings) -> None:
    """Load it, with hashes that are right again; the error is what is wanted."""
    manifest = Manifest.read(folder)
    files = {file: file_record(folder / file) for file in manifest.files}
    replace(manifest, files=files).write(folder)
    try:
        load(folder, provider=place.device if place.device != "cpu" else None).close()
    except Exception as error:  # noqa: BLE001 - which one is what is to be found out
        findings.add({name: f"{type(error).__name__}: {error}"})
    else:
        findings.fault(name, "it was loaded")


def run_elsewhere(backend: str, options: EngineOptions, place: Place, findings: Findings) -> None:
    """An engine on this device, whether zooport says that it can run there or not: is it built, loaded, and right?"""
    folder = place.scratch / "elsewhere"
    folder.mkdir(parents=True, exist_ok=True)
    path, plan = folder / "twice.onnx", folder / ENGINE_FILE
    onnx.save(onnx.parser.parse_model(TWICE), path)
    try:
        built = build_engine(path, plan, backend, options, [INPUT], AXES, precision="fp32")
    except InputError as error:  # an option that this library has not
        findings.cannot_run(str(error))
        return
    findings.add({"build s": built.seconds, "built on": built.record.device, "plan MB": plan.stat().st_size / 1e6})
    with patch("backends.tensorrt.runner.can_run", lambda *_: None), _engine(plan, backend, place) as runner:
        findings.add({"loaded": True})
        rows = np.arange(2 * COLUMNS, dtype=np.float32).reshape(2, COLUMNS)
        findings.add({"off by": _off(runner.run({INPUT.name: rows})[OUTPUTS[0].name], 2 * rows)})


@contextmanager
def _engine(plan: Path, backend: str, place: Place) -> Iterator[TensorRTRunner]:
    if place.rehearsal:
        with stand_in_engine(backend) as runner:
            yield runner
        return
    with TensorRTRunner(plan, [INPUT], OUTPUTS[:1], AXES, backend=backend, device=place.device) as runner:
        yield runner


def _off(actual: Array, expected: Array) -> float:
    """The largest difference of any element."""
    return float(np.abs(actual.astype(np.float64) - expected).max(initial=0.0))
