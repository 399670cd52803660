"""Whether this machine computes what was proved: the self-test of a loaded deployment, run and compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from backends.runner import Runner
from backends.self_test.comparing import deviations
from backends.self_test.deviation import Deviation
from backends.self_test.proof import format_proof
from backends.self_test.stored import SelfTest
from zoo.errors import GateError, InputError
from zoo.manifest import SELF_TEST_FILE, Manifest
from zoo.tasks import input_kind_of
from zoo.tasks.output_role import Roles


class SelfTestFailedError(GateError):
    """This machine computes something else than what was proved; ``data`` has every figure, for --json."""

    def __init__(self, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.data = data or {}


@dataclass(frozen=True)
class Checked:
    """A self-test that was passed: in one line, and all figures."""

    words: str
    deviations: tuple[Deviation, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"passed": True, "words": self.words, "outputs": [deviation.to_dict() for deviation in self.deviations]}


def check(manifest: Manifest, roles: Roles, runner: Runner, self_test: bytes | None) -> Checked:
    """Run the self-test of a deployment, whose runner may be on any provider and number of threads.

    `roles`: of its outputs, as its task has them. `self_test`: the content of its SELF_TEST_FILE.

    Raises InputError where it has no self-test, or what it has is none, and SelfTestFailedError, naming each output
    that is off, by how much, and its gate.
    """
    if self_test is None or manifest.self_test is None:
        raise InputError(
            f"{manifest.name}: this deployment carries no self-test (it was made by an earlier zooport); deploy the "
            "model again with zooport deploy, or load it without check"
        )
    test = SelfTest.from_bytes(self_test, f"{manifest.name}: {SELF_TEST_FILE}", roles)
    outputs = runner.run_float32(test.inputs(input_kind_of(manifest.task)))
    results = tuple(deviations(test, outputs, manifest.self_test["gates"], manifest.self_test["thresholds"]))
    proved = format_proof(manifest)
    failures = [deviation for deviation in results if not deviation.passed]
    if failures:
        raise SelfTestFailedError(
            f"{manifest.name}: this machine does not compute what was proved on {proved}: "
            f"{'; '.join(map(str, failures))}. Results here are not those that were compared with PyTorch: deploy the "
            "model again on this machine",
            {"passed": False, "outputs": [deviation.to_dict() for deviation in results]},
        )
    return Checked(f"this machine computes what was proved on {proved}", results)
