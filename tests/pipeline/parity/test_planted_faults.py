"""A fault of each kind inside a real deploy: refused, and named to its module. The whole list: benchmarks."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
sys.path.append(str(BENCHMARKS))
try:
    import fault_list
    import fault_trial
finally:
    sys.path.remove(str(BENCHMARKS))

QUICK = fault_list.RESOLVER


def first_of_each_kind(config: str) -> list[Any]:
    kinds: dict[str, Any] = {}
    for fault in fault_list.FAULTS:
        if fault.config == config:
            kinds.setdefault(fault.kind, fault)
    return list(kinds.values())


@pytest.fixture(scope="module")
def trials() -> Iterator[dict[str, Any]]:
    """Each model's trial, which was not begun yet."""
    with ExitStack() as stack:
        yield {config: stack.enter_context(fault_trial.trial_of(config)) for config in (QUICK, fault_list.YOLO)}


def check(trial: Any, fault: Any) -> None:
    verdict = trial.deploy(fault)
    assert verdict != "passed"
    if fault.kind == "class map":
        assert verdict.startswith("manifest: class ")
    if fault.graph is not None:
        assert (fault.module or "(the model's own forward)") in str(trial.named(fault)).split(" + ")


@pytest.mark.slow
def test_one_of_each_kind_in_a_super_resolver(trials: dict[str, Any]) -> None:
    trial = trials[QUICK]
    assert trial.begin() == "passed"
    faults = first_of_each_kind(QUICK)
    assert {fault.kind for fault in faults} == {"weights", "attribute", "runtime", "constant"}
    for fault in faults:
        if fault.kind != "constant":  # the first of these is within the bounds
            check(trial, fault)


@pytest.mark.slow
def test_one_of_each_kind_in_a_detector(trials: dict[str, Any]) -> None:
    trial = trials[fault_list.YOLO]
    assert trial.begin() == "passed"
    faults = first_of_each_kind(fault_list.YOLO)
    assert {fault.kind for fault in faults} == {fault.kind for fault in fault_list.FAULTS}
    for fault in faults:
        check(trial, fault)


def test_the_list() -> None:
    """At least sixty, of all kinds, in five models; each with a name of its own."""
    names = [fault.name for fault in fault_list.FAULTS]
    assert len(set(names)) == len(names) >= 60
    assert len({fault.config for fault in fault_list.FAULTS}) == 5
    assert len({fault.kind for fault in fault_list.FAULTS}) == 7
