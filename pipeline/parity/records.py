"""What parity found, as typed and immutable records; ``to_json`` gives them the form of parity.json."""

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from zoo.comparison import Figure, Findings

PASSED = "passed"
ENGINE_NOT_RUN = "engine-not-run"
FAILED_ALLOWED = "failed-allowed"
INPUT, MEAN_INPUT = INPUT_FIGURES = ("input", "mean of input")
WAY_BACK, SAME_INPUT, END_TO_END, TOGETHER = "way back", "same input", "end to end", "together"


@dataclass(frozen=True)
class Case:
    """One comparison: which images, at which tensor shape, and what was found. ``kind``: "graph" or "pipeline"."""

    kind: str
    images: tuple[str, ...]
    shape: tuple[int, ...]
    findings: Findings


@dataclass(frozen=True)
class MetricFigure:
    """The main metric on a data set: of the unpatched model, ``reference``, and of the deployment, ``value``.

    Both in ``unit``, "points" of 0..100 or "dB"; ``gate``: how far they may be apart. ``what``: of what, where that is
    not the deployment itself.
    """

    name: str
    unit: str
    images: int
    reference: float
    value: float
    gate: float
    what: str = ""

    @property
    def difference(self) -> float:
        """Of the deployment to the model."""
        return self.value - self.reference

    @property
    def passed(self) -> bool:
        """Whether the gate is kept. What is not a number never does, nor does a model that finds nothing."""
        return self.reference > 0 and abs(self.difference) <= self.gate

    def sentence(self, inputs: str) -> str:
        """In one line. ``inputs``: what the data set has, in the plural."""
        what = f"{self.what}: " if self.what else ""
        words = (
            f"{what}{self.name} {self.value:.2f} on {self.images} {inputs}, PyTorch {self.reference:.2f}: difference "
            f"{self.difference:+.2f} {self.unit}, gate {self.gate:g}"
        )
        return words if self.reference > 0 else f"{words}: PyTorch itself is not above 0, so nothing is proved"


@dataclass(frozen=True)
class ComparedConstant:
    """A constant of the PyTorch ``module`` beside that of the graph: what was ``expected`` there, and ``found``."""

    name: str
    module: str
    expected: str
    found: str
    passed: bool

    @property
    def words(self) -> str:
        """In one line."""
        where = self.module or "the model"
        return f"{self.name} ({where}): PyTorch has {self.expected}, the graph {self.found}"


@dataclass(frozen=True)
class Exercised:
    """How often the compared images used a ``part`` of the model: ``count`` times; 0 where none did.

    ``sought``: whether images are made for it where no given one uses it.
    """

    what: str
    part: str
    count: int
    sought: bool = True


@dataclass(frozen=True)
class ParityRecord:
    """All comparisons of one deployment, the gates they were held to, and the verdict.

    ``by_engine``: whether what was compared ran where it is deployed, and not a reference implementation or another
    backend. ``metric``: what decides below fp32, where the cases are recorded and not judged; a string says why nothing
    was measured. None for fp32, which the cases decide. ``manifest``: what it says otherwise than the config.
    ``constants``: of the graph and of the model, by value; they decide at every precision. ``exercised``: what the
    images used of the PyTorch model. ``inputs``: what the task's inputs are called, in the plural.
    """

    gates: Mapping[str, Mapping[str, float]]
    cases: tuple[Case, ...]
    notes: tuple[str, ...] = ()
    allowed: bool = False
    by_engine: bool = True
    metric: tuple[MetricFigure, ...] | str | None = None
    manifest: tuple[str, ...] = ()
    constants: tuple[ComparedConstant, ...] = ()
    exercised: tuple[Exercised, ...] = ()
    inputs: str = "images"
    failures: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "failures", tuple(self._failures()))

    @property
    def passed(self) -> bool:
        """Whether every gate was kept, and something was compared."""
        return not self.failures

    @property
    def verdict(self) -> str:
        """The manifest's word: "passed", "engine-not-run", "failed-allowed", or "failed" (which is never published)."""
        if self.passed:
            return PASSED if self.by_engine else ENGINE_NOT_RUN
        return FAILED_ALLOWED if self.allowed else "failed"

    def _failures(self) -> Iterable[str]:
        different = [f"constants: {constant.words}" for constant in self.constants if not constant.passed]
        wrong = [f"manifest: {failure}" for failure in self.manifest]
        if self.metric is None:
            return (*different, *_failures(self.cases), *wrong)
        failures = [*different, *_failures(self.cases, faults_alone=True), *wrong]
        if isinstance(self.metric, str):
            return (*failures, f"metric: {self.metric}")
        if not self.metric:
            failures.append("metric: nothing was measured")
        return (*failures, *(f"metric: {figure.sentence(self.inputs)}" for figure in self.metric if not figure.passed))

    def summary(self, kind: str) -> Findings:
        """All cases of a kind as one: the worst figures, all that is borderline."""
        total = Findings(blank=True)
        for case in self.cases:
            if case.kind == kind:
                total += case.findings
        return total

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, with the summaries first a reader looks for."""
        kinds = dict.fromkeys(case.kind for case in self.cases)
        return {
            "verdict": self.verdict,
            "failures": list(self.failures),
            "gates": {kind: dict(values) for kind, values in self.gates.items()},
            **({} if self.metric is None else {"metric": _plain(self.metric)}),
            "notes": list(self.notes),
            "constants": _plain(self.constants),
            "exercised": _plain(self.exercised),
            "summary": {kind: _plain(self.summary(kind)) for kind in kinds},
            "cases": [_plain(case) for case in self.cases],
        }


def recorded(case: Case) -> Case:
    """The case with figures that no gate judges: below fp32 the metric does. Those of the input have no precision."""
    figures = tuple(
        figure if figure.name in INPUT_FIGURES else dataclasses.replace(figure, gate=None)
        for figure in case.findings.figures
    )
    return dataclasses.replace(case, findings=dataclasses.replace(case.findings, figures=figures))


def dump_json(content: Mapping[str, Any]) -> str:
    """JSON text: sorted keys, two spaces, a newline at the end, never NaN."""
    return json.dumps(content, indent=2, sort_keys=True, allow_nan=False) + "\n"


def _failures(cases: tuple[Case, ...], *, faults_alone: bool = False) -> Iterable[str]:
    """``faults_alone``: what no precision excuses, and what is not finite; not what is further apart than a gate."""
    for kind in dict.fromkeys(case.kind for case in cases):
        chosen = [case for case in cases if case.kind == kind]
        for case in chosen:
            shape = "x".join(map(str, case.shape))
            for failure in _faults(case.findings) if faults_alone else case.findings.failures:
                yield f"{kind} parity, {', '.join(case.images)} [{shape}]: {failure}"
        if all(case.findings.blank for case in chosen):
            yield (
                f"{kind} parity: nothing was compared, because PyTorch and the backend both found nothing in "
                f"{len(chosen)} case(s); give --image with objects that the model knows, or trained weights"
            )
    if not cases:
        yield "parity: nothing was compared"


def _faults(findings: Findings) -> Iterable[str]:
    yield from findings.faults
    yield from (f"{figure.name}: NaN or infinity" for figure in findings.figures if figure.max_error is None)


def _plain(value: Any) -> Any:
    """Dataclasses, tuples and floats as JSON types; a figure also says whether it passed."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return fields | {"passed": value.passed} if isinstance(value, Figure | MetricFigure) else fields
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
