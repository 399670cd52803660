"""The verdict in words that cannot be misread: what was found, and what it says of this deployment."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.parity.records import ENGINE_NOT_RUN, FAILED_ALLOWED, PASSED

TITLES = {
    PASSED: "Parity passed",
    ENGINE_NOT_RUN: "No engine has run",
    FAILED_ALLOWED: "Parity missed",
}
KINDS = {PASSED: "good", ENGINE_NOT_RUN: "open", FAILED_ALLOWED: "bad"}
SIGNS = {"good": "✓", "open": "?", "bad": "✗"}


@dataclass(frozen=True)
class Verdict:
    """``kind``: "good", "open" or "bad". ``failures``: each gate that was missed, in one line."""

    kind: str
    sign: str
    title: str
    words: str
    failures: tuple[str, ...]


def verdict_of(verdict: str | None, *, level: str, by_metric: bool, failures: Sequence[str]) -> Verdict:
    """From the manifest's word. ``level``: of the output; ``by_metric``: whether the metric decided, as below fp32."""
    kind = KINDS.get(verdict or "", "open")
    title = TITLES.get(verdict or "", "Parity was not measured")
    return Verdict(kind, SIGNS[kind], title, _explain(verdict, level, by_metric=by_metric), tuple(failures))


def _explain(verdict: str | None, level: str, *, by_metric: bool) -> str:
    if verdict == PASSED and by_metric:
        return "On the data set the deployment is as good as the unpatched PyTorch model, within the metric's gate."
    if verdict == PASSED and level != "final":
        return "The deployment's tensors are those of the unpatched PyTorch model, within the gates."
    if verdict == PASSED:
        return "The deployment gives what the unpatched PyTorch model gives, within the gates."
    if verdict == ENGINE_NOT_RUN:
        return (
            "The graph is the model: parity passed where the graph was run in the engine's place. Of what the engine "
            "itself computes nothing is known yet; deploy on a machine that can run it."
        )
    if verdict == FAILED_ALLOWED:
        return (
            "This deployment is NOT the same model as the PyTorch model. It was published because "
            "--allow-parity-failure was given."
        )
    return "It is not known how close this deployment is to the PyTorch model; deploy it again."
