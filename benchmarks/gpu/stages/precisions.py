"""(e) fp16 and int8 as a device's kernels really compute them: the metric, and what alignment says."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from backends.registry import backends
from gpu.deployments import deploy, deployed_once, metric, rehearsed
from gpu.lacks import no_provider
from gpu.stage import Cell, Findings, Place, Stage
from gpu.stages.onnxruntime_cuda import OPSETS, label
from gpu.stages.tensorrt_engines import engine_backends
from gpu.timed import latencies
from zoo.target import DEFAULT_BACKEND, PRECISIONS

LOWER = [precision for precision in PRECISIONS if precision != "fp32"]
ALIGNED = ("fcn_r18_digits", "faster-rcnn", "resnet18")  # words in the names of the models that engines are aligned of
ROUNDS = 15
SMALL = "gate_dataset = None\n"  # of 512 images


def cells(place: Place) -> Iterator[Cell]:
    """The default backend, every model; alignment, where an engine of each piece is built for a few models; latency."""
    for precision in place.one_or_all(LOWER):
        for config in place.configs():
            subject = Path(config).stem
            measure = partial(_deployed, DEFAULT_BACKEND, precision, config)
            yield Cell(f"{DEFAULT_BACKEND}, {precision}", subject, measure, alone=False)
    able = [name for name in engine_backends() if backends()[name].can_run(place.device) is None]
    for precision in place.one_or_all(LOWER):
        for name, words in ((DEFAULT_BACKEND, ()), *((name, ALIGNED) for name in able)):
            for config in place.configs(*words):
                measure = partial(_aligned, name, precision, config)
                yield Cell(f"alignment, {name}, {precision}", Path(config).stem, measure, alone=False)
    for precision in place.one_or_all(LOWER):
        for config in place.configs():
            measure = partial(_latency, precision, config)
            yield Cell(f"latency, {DEFAULT_BACKEND}, {precision}", Path(config).stem, measure)


def _deployed(backend: str, precision: str, config: str, place: Place, findings: Findings) -> None:
    """The metric on the gate split, which the deploy itself measures, and on the data set."""
    config = rehearsed(config, place, SMALL)
    folder = deploy(config, place, f"{backend}-{precision}", findings, backend=backend, precision=precision)
    with findings.trying("self-test"):
        _self_test(folder, findings)
    with findings.trying("metric"):
        metric(config, folder, place, findings)


def _self_test(folder: Path, findings: Findings) -> None:
    """How far the CPU, which computes fp16 in float32, is from the outputs that the device gave."""
    from self_test import deviations

    from backends import load

    with load(folder, provider="cpu") as model:
        for output in deviations(model):
            name = f"self-test on a CPU, {output['output']}"
            findings.add({name: output["worst"], f"{name}, gate": output["gate"]})


def _aligned(backend: str, precision: str, config: str, place: Place, findings: Findings) -> None:
    """The first module that is further off than its precision explains, as the device computes it."""
    from pipeline.alignment.aligning import align
    from pipeline.job.deploy_target import deploy_target
    from zoo.config import load_config

    loaded = load_config(rehearsed(config, place, SMALL))
    target = deploy_target(loaded, backend=backend, precision=precision, device=place.device)
    found = align(loaded, target, by_pieces=True)
    errors = [(pair.figures.relative, pair.name) for pair in found.pairs if pair.figures is not None]
    worst, module = max(errors, default=(None, None))
    findings.add(
        {
            "passed": found.passed,
            "verdict": found.verdict,
            "compared": len(errors),
            "largest error": worst,
            "of": module,
            "threshold": found.threshold,
        }
    )


def _latency(precision: str, config: str, place: Place, findings: Findings) -> None:
    """The default backend's graph of this precision beside that of fp32, from numpy to numpy."""
    from gpu.contenders import graph, unpatched

    _, inputs = unpatched(config, place)
    small, opset = rehearsed(config, place, SMALL), OPSETS[0]
    lower = deployed_once(small, place, f"{DEFAULT_BACKEND}-{precision}", findings, precision=precision)
    full = deployed_once(config, place, label(opset), findings, opset=opset)
    runs = {
        name: graph(folder / "model.onnx", inputs, place.device)
        for name, folder in ((precision, lower), ("fp32", full))
    }
    findings.add(latencies(runs, place.some(ROUNDS)))


STAGE = Stage(
    5,
    "precisions",
    "What do fp16 and int8 cost where kernels really compute in them, and in which module?",
    cells,
    no_provider,
    for_alone=0.3,
)
