"""(e) fp16 and int8 as a device's kernels really compute them: the metric, and what alignment says."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from backends.registry import backends
from gpu.deployments import deploy, metric, rehearsed
from gpu.lacks import no_provider
from gpu.stage import Cell, Findings, Place, Stage
from gpu.stages.tensorrt_engines import engine_backends
from zoo.target import DEFAULT_BACKEND, PRECISIONS

LOWER = [precision for precision in PRECISIONS if precision != "fp32"]
ALIGNED = ("fcn_r18_digits", "faster-rcnn", "resnet18")  # words in the names of the models that engines are aligned of
SMALL = "gate_dataset = None\n"  # of 512 images


def cells(place: Place) -> Iterator[Cell]:
    """The default backend, every model; then alignment, where an engine of each piece is built for a few models."""
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


def _deployed(backend: str, precision: str, config: str, place: Place, findings: Findings) -> None:
    """The metric on the gate split, which the deploy itself measures, and on the data set."""
    label, config = f"{backend}-{precision}", rehearsed(config, place, SMALL)
    folder = deploy(config, place, label, findings, backend=backend, precision=precision)
    with findings.trying("metric"):
        metric(config, folder, place, findings)


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


STAGE = Stage(
    5,
    "precisions",
    "What do fp16 and int8 cost where kernels really compute in them, and in which module?",
    cells,
    no_provider,
)
