"""From what exporters said and eager PyTorch showed to findings: one for each cause at each place."""

import re
from collections.abc import Iterable, Iterator, Sequence

from pipeline.doctor.attempt import Attempt
from pipeline.doctor.causes import Cause, by_sight, by_warning, cause_of_message
from pipeline.doctor.coverage import Coverage
from pipeline.doctor.report import Finding, Report, format_run
from pipeline.doctor.source_location import SourceLocation
from pipeline.doctor.tracer_warnings import TracerWarnings
from pipeline.doctor.translations import proposed_rewriter, symbolic_rewriter, with_rewriters

SCATTERS = 4  # fewer cost little
NUMBER = by_sight("to-python")
OPERATOR = re.compile(r"(aten|torchvision|prims|zooport)(?:::|\.)_?(\w+)|(?:operator|implementation for) (\w+)")


def diagnose(
    attempts: Sequence[Attempt], watched: TracerWarnings, sights: Iterable[Finding], tested: Coverage
) -> Report:
    """The report of attempts and of what eager PyTorch showed."""
    sights = list(sights)
    findings = [
        *(finding for attempt in attempts for finding in _of_attempt(attempt, attempts, watched, sights, tested)),
        *sights,
    ]
    frozen = {finding.place for finding in findings if finding.cause.silent and finding.cause is not NUMBER}
    warned = {finding.place for finding in findings if finding.ways and finding.cause.warned}
    merged: dict[tuple[str, SourceLocation | None, str], Finding] = {}
    for finding in findings:
        if not finding.ways and finding.place in (frozen if finding.cause is NUMBER else warned):
            continue  # what is known of that line is more exact
        key = (finding.cause.name, finding.place, finding.operator)
        merged[key] = merged[key].merged(finding) if key in merged else finding
    return Report(tuple(attempts), tuple(merged.values()))


def _of_attempt(
    attempt: Attempt, attempts: Sequence[Attempt], watched: TracerWarnings, sights: Sequence[Finding], tested: Coverage
) -> Iterator[Finding]:
    way = attempt.way
    if attempt.error:
        code = f" @ {attempt.place.code}" if attempt.place else ""
        cause = cause_of_message(attempt.error + code, way.exporter)
        if cause.name == "constant-output" and watched.numbers_given and "output" in attempt.error:
            why = f"{watched.numbers_given} of the outputs; {attempt.error.partition(';')[0]}"
            yield Finding(by_sight("python-output"), None, (way,), why)
            return
        operator, place = _operator(attempt.error, watched)
        place = place or attempt.place or _sighted(cause, sights) or _early_return(attempt)
        yield Finding(cause, place, (way,), attempt.error, operator, proposed_rewriter(operator, attempt, attempts))
    for place, words in attempt.warned:
        if (warned := by_warning(f"{words} @ {place.code}", way.exporter)) is not None:
            decided = not warned.silent or tested.decided(place, warned)
            yield Finding(warned, place, (way,), words, decided=decided)
    if not all(run.good for run in attempt.runs):
        yield _of_numbers(attempt, attempts, watched, sights)
    if not way.rewriters and attempt.nodes.get("ScatterElements", 0) >= SCATTERS:
        place = next(iter(watched.operators.get("torchvision::roi_align", ())), None)
        yield Finding(by_sight("scatter"), place, (way,), f"{attempt.nodes['ScatterElements']} nodes ScatterElements")
    if attempt.leak:
        yield Finding(by_sight("leak"), None, (way,), attempt.leak)


def _of_numbers(
    attempt: Attempt, attempts: Sequence[Attempt], watched: TracerWarnings, sights: Sequence[Finding]
) -> Finding:
    """For a file that runs, and gives other numbers: on its own example, or on other inputs alone."""
    why = "; ".join(format_run(run) for run in attempt.runs if not run.good)
    if attempt.module:
        why += f"; the first module that differs: {attempt.module}"
    ways = (attempt.way,)
    if attempt.runs[0].good:
        return Finding(*_suspect(attempt, sights), ways, why)
    if watched.ties:
        return Finding(by_sight("ties"), next(iter(watched.ties)), ways, why)
    corrected = with_rewriters(attempt, attempts)
    right = corrected.fired if corrected is not None and corrected.good else ()
    for operator, places in watched.operators.items():
        rewriter = symbolic_rewriter(operator, attempt.way)
        if rewriter in right:  # what acted in the file that is right
            return Finding(by_sight("numbers"), next(iter(places), None), ways, why, operator, rewriter)
    return Finding(by_sight("numbers"), None, ways, why)


def _operator(words: str, watched: TracerWarnings) -> tuple[str, SourceLocation | None]:
    """The operator that an error names, as the model ran it, and where from."""
    for match in OPERATOR.finditer(words):
        wanted = (match[2] or match[3]).lstrip("_").lower()
        for name, places in watched.operators.items():
            if name.partition("::")[2].lstrip("_").lower() == wanted:
                return name, places[0] if places else None
    return "", None


def _sighted(cause: Cause, sights: Sequence[Finding]) -> SourceLocation | None:
    """For a path that depends on the input, and an error that names no line: the first that eager PyTorch showed."""
    if not (cause.silent or cause.name.startswith("data-dependent")):
        return None
    return next((sight.place for sight in sights if sight.cause.silent), None)


def _early_return(attempt: Attempt) -> SourceLocation | None:
    """Where the graph lacks an input: the last branch that the exporter warned of is where the trace ended."""
    branches = [place for place, words in attempt.warned if "boolean" in words]
    return branches[-1] if branches and attempt.stage == "graph" else None


def _suspect(attempt: Attempt, sights: Sequence[Finding]) -> tuple[Cause, SourceLocation | None]:
    """What may be to blame for other numbers: a line that parts, else one that the exporter warned of."""
    for sight in sights:
        if sight.cause in (by_sight("branch"), by_sight("loop")):
            return sight.cause, sight.place
    for place, words in attempt.warned:
        if (warned := by_warning(f"{words} @ {place.code}", attempt.way.exporter)) is not None:
            return warned, place
    return by_sight("path"), None
