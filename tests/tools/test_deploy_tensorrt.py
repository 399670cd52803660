"""Deploying for tensorrt-rtx where no engine can run: it is built, and proved as far as that goes."""

import importlib.util
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from backends import load
from backends.tensorrt.running import can_run
from tests.tools.tiny import Run, Tiny
from zoo.errors import BackendUnavailableError, InputError
from zoo.manifest import Manifest

pytestmark = [
    pytest.mark.tensorrt,
    pytest.mark.skipif(
        importlib.util.find_spec("tensorrt_rtx") is None,
        reason='tensorrt_rtx is not installed: pip install "zooport[tensorrt-rtx]"',
    ),
    pytest.mark.skipif(
        importlib.util.find_spec("tensorrt_rtx") is not None and can_run("tensorrt-rtx", "cuda:0") is None,
        reason="an engine can run here, so that these deployments are proved by it",
    ),
]
Deploy = Callable[[Sequence[str]], Run]
RTX = ("--backend", "tensorrt-rtx")


def place(tiny: Tiny, name: str = "tensorrt-rtx-fp32") -> Path:
    return tiny.place.with_name(name)


def test_an_engine_that_cannot_run_is_delivered_and_said_to_be_so(deploy: Deploy, tiny: Tiny) -> None:
    run = deploy(tiny.with_images(*RTX))
    assert run.code == 0, run.err
    assert "parity: engine-not-run" in run.out
    assert "No engine has run: " in run.out
    assert "engine: tensorrt-rtx " in run.out
    manifest = Manifest.read(place(tiny))
    assert manifest.parity == {"verdict": "engine-not-run"}
    # the self-test is for the machine that has the device
    assert sorted(manifest.files) == ["model.engine", "model.engine.json", "model.onnx", "self_test.npz"]
    assert manifest.engine["batches"] == []
    assert {"tensorrt_rtx", "cuda-bindings"} <= manifest.versions.keys()
    record = json.loads((place(tiny) / "parity.json").read_text())
    assert record["cases"], "the very same graph was compared"
    page = (place(tiny) / "report.html").read_text()
    assert "No engine has run" in page
    assert "Parity passed: the deployment gives" not in page


def test_loading_it_says_what_is_missing(deploy: Deploy, tiny: Tiny) -> None:
    assert deploy(tiny.with_images(*RTX)).code == 0
    with pytest.raises(BackendUnavailableError, match="tensorrt-rtx"):
        load(place(tiny))


def test_a_changed_engine_is_reported_first(deploy: Deploy, tiny: Tiny) -> None:
    assert deploy(tiny.with_images(*RTX)).code == 0
    plan = place(tiny) / "model.engine"
    plan.write_bytes(plan.read_bytes()[:-1] + b"?")
    with pytest.raises(InputError, match="model.engine: got sha256"):
        load(place(tiny))


def test_options_reach_the_engine(deploy: Deploy, tiny: Tiny) -> None:
    run = deploy(tiny.with_images(*RTX, "--engine", "batches=1,4", "compute_capabilities=8.9"))
    assert run.code == 0, run.err
    folder = place(tiny, "tensorrt-rtx-fp32-cc8.9-b1x4")
    record = json.loads((folder / "model.engine.json").read_text())
    assert len(record["profiles"]) == 3
    assert record["options"]["compute_capabilities"] == ["8.9"]


@pytest.mark.parametrize("precision", ["fp16", "int8"])
def test_lower_precisions_are_judged_through_the_same_graph(deploy: Deploy, voc: Tiny, precision: str) -> None:
    run = deploy(voc.arguments(*RTX, "--precision", precision, "--calibration-image", voc.folder / "training"))
    assert run.code == 0, run.err
    manifest = Manifest.read(place(voc, f"tensorrt-rtx-{precision}"))
    assert manifest.parity == {"verdict": "engine-not-run"}
    assert manifest.precision["computed"] == precision


def test_a_capability_that_is_none_is_reported_before_anything_is_written(deploy: Deploy, tiny: Tiny) -> None:
    run = deploy(tiny.with_images(*RTX, "--engine", "compute_capabilities=9.9"))
    assert run.code == 2
    assert "9.9" in run.err
    assert not tiny.work_dir.parent.exists()


def test_an_evaluation_needs_an_engine_that_runs(evaluate: Deploy, voc: Tiny) -> None:
    run = evaluate(voc.arguments("--backend", "pytorch", "tensorrt-rtx"))
    assert run.code == 4
    assert run.err.count("\n") == 1
