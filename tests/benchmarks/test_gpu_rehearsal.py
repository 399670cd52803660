"""Each stage of the GPU kit at its form on a CPU, by the very command that runs it on a GPU.

The faults named here are those that a machine without a GPU must give.
"""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zoo.cards import TrainingRun

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture
def rehearse(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """rehearse(stage, *faults) -> its cells by kind. Each ended by itself, none was left out, no other step failed."""

    def run(stage: str, *faults: str) -> dict[str, Any]:
        folders = ["--out", str(tmp_path / "out"), "--scratch", str(tmp_path / "scratch")]
        command = [sys.executable, str(ROOT / "benchmarks/gpu/run.py"), "--stage", stage, "--rehearse", *folders]
        done = subprocess.run([*command, "--seconds", "3000"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        record = json.loads((tmp_path / "out/findings.json").read_text())[stage]
        assert record["rehearsal"]
        assert record["left_out"] == []
        assert [cell["ended"] for cell in record["cells"].values()] == [None] * len(record["cells"])
        failed = {step: fault for cell in record["cells"].values() for step, fault in cell["faults"].items()}
        assert set(failed) == set(faults), failed
        return {cell["kind"]: cell for cell in record["cells"].values()}

    return run


def test_environment(rehearse: Callable[..., dict[str, Any]]) -> None:
    cells = rehearse("environment")
    assert cells["backends"]["figures"]["onnxruntime"] == "can run"
    started = cells["ONNX Runtime starts"]["figures"]
    assert (started["runs on"], started["right"]) == ("CPUExecutionProvider", True)
    numbers = cells["torch"]["figures"]
    assert numbers["product off by, torch.float32"] < 1e-5
    assert 1e-5 < numbers["convolution off by, torch.float16"] < 1e-2


def test_tests(rehearse: Callable[..., dict[str, Any]]) -> None:
    cell = rehearse("tests")["tests"]
    counts = cell["figures"]
    assert counts["passed"] + counts["skipped"] > 0
    assert counts["failure"] == counts["error"] == 0
    assert bool(counts["skipped"]) == bool(counts["reasons of skips"]), "each skip says why"


def test_onnxruntime(rehearse: Callable[..., dict[str, Any]]) -> None:
    cells = rehearse("onnxruntime")
    deployed = cells["deployed"]["figures"]
    assert (deployed["verdict"], deployed["judged"]) == ("passed", "passed")
    assert "Conv" in deployed["nodes on the CPU"], "all of them are there"
    latency = cells["latency"]["figures"]
    for contender in ("ours", "plain export", "eager"):
        assert latency[f"{contender} ms"] > 0
    assert cells["torch.compile"]["figures"]["torch.compile ms"] > 0
    bound = cells["bound"]["figures"]
    assert bound["off by"] == bound["graph off by"] == bound["streams off by"] == 0
    assert bound["two streams /s"] > 0
    assert set(cells["memory"]["figures"]) == {"eager MiB", "ours MiB"}


@pytest.mark.tensorrt
@pytest.mark.skipif(importlib.util.find_spec("tensorrt_rtx") is None, reason="needs the extra tensorrt-rtx")
def test_tensorrt(rehearse: Callable[..., dict[str, Any]]) -> None:
    cells = rehearse("tensorrt", "metric")
    deployed = cells["tensorrt-rtx, fp32"]
    assert deployed["figures"]["verdict"] == "engine-not-run"
    assert deployed["figures"]["plan MB"] > 0
    assert "TensorRT runs on CUDA devices" in deployed["faults"]["metric"]
    timed = cells["latency of tensorrt-rtx"]
    for words in ("", ", CUDA graph"):
        assert timed["figures"][f"run_device off by{words}"] == 0
        assert timed["figures"][f"two threads /s{words}"] > 0
    refused = cells["refused"]
    assert "build it again" in refused["figures"]["another version"]
    assert cells["engine on this device"]["figures"]["off by"] == 0
    assert "not installed" in cells["tensorrt"]["lack"]


def test_precisions(rehearse: Callable[..., dict[str, Any]]) -> None:
    cells = rehearse("precisions")
    deployed = cells["onnxruntime, fp16"]["figures"]
    assert deployed["verdict"] == "passed"
    assert "float" in deployed["computes in"]
    assert deployed["deploy's metric, difference"] == 0
    timed = cells["latency, onnxruntime, fp16"]["figures"]
    assert min(timed["fp16 ms"], timed["fp32 ms"]) > 0
    aligned = cells["alignment, onnxruntime, fp16"]["figures"]
    assert aligned["passed"]
    assert aligned["compared"] > 0


def test_training(rehearse: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    from pipeline.training import read_run

    cells = rehearse("training")
    longer = cells["longer recipe"]["figures"]
    assert longer["difference"] == pytest.approx(longer["trained"] - longer["published"], abs=0.1)
    speed = cells["speed"]["figures"]
    assert min(speed["float32 iterations/s"], speed["mixed precision iterations/s"], longer["iterations/s"]) > 0
    run = read_run(tmp_path / "out" / longer["kept"])
    assert isinstance(run, TrainingRun)
    assert (run.amp, run.iterations) == (True, 2)


def test_torchrun(rehearse: Callable[..., dict[str, Any]]) -> None:
    cell = rehearse("torchrun")["evaluation"]
    assert cell["figures"]["processes"] == 2
    assert cell["figures"]["every figure equal"]


def test_streaming(rehearse: Callable[..., dict[str, Any]]) -> None:
    cell = rehearse("streaming")["throughput"]
    rates = {name: value for name, value in cell["figures"].items() if name.endswith(" /s")}
    assert {"reading /s", "preprocessing /s", "running /s", "one after another /s", "stream, 4 ahead /s"} < set(rates)
    assert all(rate > 0 for rate in rates.values())


def test_without_a_device_every_stage_says_why(tmp_path: Path) -> None:
    """In a process that sees no device; the exit code says that nothing ran."""
    command = [sys.executable, str(ROOT / "benchmarks/gpu/run.py"), "--stage", "environment", "onnxruntime"]
    folders = ["--out", str(tmp_path / "out"), "--scratch", str(tmp_path / "scratch")]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([*command, *folders], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 4, done.stderr
    assert done.stdout.count("there is no CUDA device") == 2
    records = json.loads((tmp_path / "out/findings.json").read_text())
    assert [record["lack"] is None for record in records.values()] == [False, False]
