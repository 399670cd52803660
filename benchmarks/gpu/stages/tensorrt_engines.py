"""(d) TensorRT's engines: built, run, compared with PyTorch, evaluated, timed; and what must be refused."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from backends.engine_options import EngineOptions
from backends.registry import backends
from gpu.deployments import deploy, metric
from gpu.engines import refusals, run_elsewhere, time_engine
from gpu.lacks import no_torch_device
from gpu.stage import Cell, Findings, Place, Stage
from zoo.target import BATCH, PRECISIONS, AxisRange

FORMS = {"static": AxisRange.fixed(1), "dynamic": AxisRange(1, 2, 8)}
KINDS = {
    "as it is": EngineOptions(),
    "hardware_compatible": EngineOptions(hardware_compatible=True),
    "for 8.0": EngineOptions(compute_capabilities=("8.0",)),
}
"""Of engines that may run on this device, though zooport says that they cannot: the options of their builds.

The second is for TensorRT, whose engines are for one device without it. Those of tensorrt_rtx are for all capabilities
from 8.0 on without an option, and with the third for a single older one.
"""


def engine_backends() -> list[str]:
    """Those that run engines on a GPU."""
    return [name for name, backend in backends().items() if "cuda_graph" in backend.load_options]


def cells(place: Place) -> Iterator[Cell]:
    """What can run here, fp32 first, and of the others why not; engines that zooport refuses; then what is timed."""
    names = [name for name in engine_backends() if backends()[name].lack() is None]
    # a rehearsal builds engines, and has a stand-in where they run
    reasons = {name: None if place.rehearsal else backends()[name].can_run(place.device) for name in names}
    able = [name for name in names if reasons[name] is None]
    for name in engine_backends():
        if name not in able:
            reason = backends()[name].lack() or reasons[name]
            yield Cell(name, "every model", partial(_cannot_run, str(reason)))
    for name in able:
        yield from _deployments(name, place)
    for name in names:
        for kind, options in KINDS.items():
            yield Cell("engine on this device", f"{name}, {kind}", partial(run_elsewhere, name, options))
    configs = place.configs()
    for name in able:
        yield Cell("refused", name, partial(refusals, configs[0], _label(name)))
    for config in configs:
        for name in able:
            yield Cell(f"latency of {name}", Path(config).stem, partial(time_engine, name, config, _label(name)))


def _deployments(name: str, place: Place) -> Iterator[Cell]:
    for precision in place.one_or_all(PRECISIONS):
        for form in place.one_or_all(list(FORMS)):
            for config in place.configs():
                measure = partial(_deployed, name, precision, form, config)
                yield Cell(f"{name}, {precision}", f"{Path(config).stem}, {form}", measure, alone=False)


def _label(name: str, precision: str = "fp32", form: str = "static") -> str:
    return f"{name}-{precision}-{form}"


def _cannot_run(reason: str, place: Place, findings: Findings) -> None:
    del place
    findings.cannot_run(reason)


def _deployed(name: str, precision: str, form: str, config: str, place: Place, findings: Findings) -> None:
    """Built, run beside PyTorch on the same inputs, and evaluated."""
    label, dynamic = _label(name, precision, form), {BATCH: FORMS[form]}
    folder = deploy(config, place, label, findings, dynamic, backend=name, precision=precision)
    with findings.trying("metric"):
        metric(config, folder, place, findings)


STAGE = Stage(
    4,
    "tensorrt",
    "Do TensorRT's engines give PyTorch's results and metric in three precisions, how fast are they, what is refused?",
    cells,
    no_torch_device,
    for_alone=0.4,
)
