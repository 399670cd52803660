"""The examination: the model is watched in eager PyTorch, exported every way, and what went wrong gets its cause."""

from collections.abc import Sequence

from pipeline.base.steps import BeginStep
from pipeline.doctor.branches import count_lines, parted
from pipeline.doctor.causes import by_sight
from pipeline.doctor.coverage import Coverage, exercised
from pipeline.doctor.diagnosis import diagnose
from pipeline.doctor.examined_model import ExaminedModel
from pipeline.doctor.export_variant import ExportVariant
from pipeline.doctor.module_subject import first_line
from pipeline.doctor.processes import attempts
from pipeline.doctor.report import Finding, Report
from pipeline.doctor.subject import Subject
from pipeline.doctor.tracer_warnings import UNIQUE, TracerWarnings, watch
from zoo.downloads import RUNS, refused_downloads
from zoo.errors import InputError
from zoo.target import EXPORTERS

FEW = 4  # fewer assignments cost little


def examine(
    subject: Subject,
    *,
    exporters: Sequence[str] = EXPORTERS,
    opset: int | None = None,
    seconds: float = 300,
    begin: BeginStep = lambda _: None,
) -> Report:
    """Every exporter, first without our rewriters and then with them. `seconds` bounds each, `begin` hears of it.

    `opset`: None for that of a config, or the default. Raises InputError where the subject cannot be loaded or does not
    run on its example.
    """
    begin("eager PyTorch")
    loaded = subject.load()
    with refused_downloads("the model", RUNS):
        watched, sights, tested = observe(loaded)
    opset = opset or loaded.target.opset
    ways = [ExportVariant(exporter, rewriters, opset) for rewriters in (False, True) for exporter in exporters]
    return diagnose(attempts(subject, ways, seconds=seconds, begin=begin), watched, sights, tested)


def observe(loaded: ExaminedModel) -> tuple[TracerWarnings, list[Finding], Coverage]:
    """What eager PyTorch shows, and which decisions the trials put to the test.

    Raises InputError where the model does not run on its example.
    """
    example = loaded.trials[0]
    try:
        watched = watch(loaded.module, example.feed)
        lines = count_lines(loaded.module, example.feed)
    except Exception as error:  # the model may raise anything
        shapes = ", ".join(f"{name} {list(tensor.shape)}" for name, tensor in example.feed.items())
        raise InputError(
            f"the model does not run in PyTorch on {shapes}: {first_line(error)}; fix the model or its inputs"
        ) from error
    findings: list[Finding] = []
    runs = [(example, watched)]
    for trial in loaded.trials[1:]:
        try:
            others = count_lines(loaded.module, trial.feed)
            runs.append((trial, watch(loaded.module, trial.feed)))
        except Exception:  # noqa: BLE001, S112  # a size that the model refuses is no fault of the export
            continue
        findings += [
            Finding(by_sight(kind), place, (), f"it takes another path for {trial.label} than for {example.label}")
            for place, kind in parted(lines, others)
        ]
    tested = exercised(runs, [finding.place for finding in findings if finding.place], loaded.axes)
    findings += [
        Finding(by_sight("to-python"), place, (), f"a tensor becomes a Python value, {count} times")
        for place, count in watched.conversions.items()
    ]
    findings += [
        Finding(by_sight("mask"), place, (), f"a mask chooses rows, {count} times")
        for place, count in watched.masks.items()
    ]
    findings += [
        Finding(by_sight("unique"), place, (), f"{operator} asks how many numbers differ")
        for operator in UNIQUE
        for place in watched.operators.get(operator, ())
    ]
    findings += [
        Finding(by_sight("assignment"), place, (), f"{count} assignments")
        for place, count in watched.assignments.items()
        if count >= FEW
    ]
    return watched, findings, tested
