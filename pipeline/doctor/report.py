"""What the doctor found: attempts, findings, and the verdict."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipeline.doctor.attempt import Attempt, Ran, Stage
from pipeline.doctor.causes import Cause
from pipeline.doctor.export_variant import ExportVariant
from pipeline.doctor.source_location import SourceLocation

GOOD, WRONG, REFUSED = 0, 3, 5
"""Exit codes: some way is right; files run, and none is right; there is no file that runs."""

STAGES: dict[Stage, str] = {
    "exporter": "the exporter",
    "graph": "our checks of its graph",
    "onnxruntime": "ONNX Runtime",
    "reference": "onnx's ReferenceEvaluator",
}


@dataclass(frozen=True)
class Finding:
    """A cause, where it was met (None: not known), in which ways of export (none: seen in eager PyTorch), and `why`.

    `operator`: as torch names it, where one is at fault; `rewriter`: our symbolic rewriter of it; `decided`: whether
    the trials would have shown wrong numbers that come of it.
    """

    cause: Cause
    place: SourceLocation | None
    ways: tuple[ExportVariant, ...]
    why: str
    operator: str = ""
    rewriter: str = ""
    decided: bool = True

    @property
    def cure(self) -> str:
        """In words."""
        return f"our symbolic rewriter {self.rewriter}; or {self.cause.cure}" if self.rewriter else self.cause.cure

    def merged(self, other: "Finding") -> "Finding":
        """The same, in the ways of both, with what was seen in each."""
        return replace(
            self,
            ways=tuple(dict.fromkeys((*self.ways, *other.ways))),
            why=self.why if other.why in self.why else f"{self.why}; {other.why}",
            rewriter=self.rewriter or other.rewriter,
            decided=self.decided and other.decided,
        )


@dataclass(frozen=True)
class Report:
    """Of one model."""

    attempts: tuple[Attempt, ...]
    findings: tuple[Finding, ...]

    @property
    def best(self) -> Attempt | None:
        """The first attempt whose file is right, one of which all is decided before the others."""
        good = [attempt for attempt in self.attempts if attempt.good]
        return min(good, key=lambda attempt: bool(self.open_in(attempt)), default=None)

    @property
    def exit_code(self) -> int:
        """0: some way is right, though lines may be undecided; 3: files run, none of them right; 5: no file runs."""
        if self.best is not None:
            return GOOD
        return WRONG if any(not attempt.error for attempt in self.attempts) else REFUSED

    def undecided(self, finding: Finding) -> bool:
        """Whether a file may be silently wrong because of it, and no trial could show it."""
        return not finding.decided and not self.harmful(finding)

    def open_in(self, attempt: Attempt) -> list[Finding]:
        """What is undecided of an attempt's file."""
        return [finding for finding in self.findings if not finding.decided and attempt.way in finding.ways]

    def harmful(self, finding: Finding) -> bool:
        """Whether all of its ways went wrong, or, where it was seen in eager PyTorch alone, any."""
        if finding.cause.harmless:
            return False
        if not finding.ways:
            return any(not attempt.good for attempt in self.attempts)
        return not any(attempt.good for attempt in self.attempts if attempt.way in finding.ways)

    @property
    def data(self) -> dict[str, Any]:
        """The same for JSON."""
        words = {GOOD: "good", WRONG: "wrong-numbers", REFUSED: "refused"}[self.exit_code]
        return {
            "verdict": "undecided" if self.best and self.open_in(self.best) else words,
            "best": str(self.best.way) if self.best else None,
            "attempts": [_attempt(attempt) for attempt in self.attempts],
            "findings": [
                {**_finding(one), "harmful": self.harmful(one), "undecided": self.undecided(one)}
                for one in self.findings
            ],
        }


def verdict(attempt: Attempt, still_open: Sequence[Finding] = ()) -> str:
    """In a few words. `still_open`: what is undecided of its file."""
    if attempt.error:
        return f"refused by {STAGES[attempt.stage]}"
    bad = [run for run in attempt.runs if not run.good]
    if not bad:
        rest = f", which do not decide {len(still_open)} of its lines" if still_open else ""
        return f"right in {len(attempt.runs)} trials{rest}"
    return f"WRONG in {len(bad)} of {len(attempt.runs)} trials: {', '.join(run.label for run in bad)}"


def format_run(run: Ran) -> str:
    """What is wrong with a run."""
    if run.refused:
        return f"{run.label}: {run.refused}"
    part = run.difference.part
    much = "in shape, dtype or NaN" if part == float("inf") else f"by {part:.1e}"
    return f"{run.label}: differs {much}"


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "exporter": attempt.way.exporter,
        "rewriters": attempt.way.rewriters,
        "opset": attempt.way.opset,
        "good": attempt.good,
        "stage": attempt.stage,
        "error": attempt.error,
        "module": attempt.module,
        "fired": list(attempt.fired),
        "nodes": attempt.nodes,
        "runs": [
            {
                "label": run.label,
                "good": run.good,
                "difference": run.difference.part if run.difference.part != float("inf") else None,
                "refused": run.refused,
            }
            for run in attempt.runs
        ],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    place = finding.place
    return {
        "cause": finding.cause.name,
        "what": finding.cause.what,
        "cure": finding.cure,
        "silent": finding.cause.silent,
        "slow": finding.cause.slow,
        "ways": [str(way) for way in finding.ways],
        "why": finding.why,
        "operator": finding.operator,
        "place": {"file": place.file, "line": place.line, "code": place.code} if place else None,
    }
