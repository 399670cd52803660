"""The self-test of a deployment that has been proved: its own outputs, on the machine of the proof."""

from dataclasses import replace
from pathlib import Path

from backends.self_test.stored import SelfTest
from pipeline.job.job import Job
from pipeline.proof.fallback_runtime import open_deployment
from pipeline.self_test.case import SelfTestCase
from pipeline.self_test.gates import self_test_gates, sure_pixels, thresholds
from zoo.comparison.decision_rule import DecisionRule
from zoo.manifest import SELF_TEST_FILE, Manifest, file_record


def with_self_test(
    job: Job, case: SelfTestCase | None, rule: DecisionRule, folder: Path, manifest: Manifest
) -> Manifest:
    """Write the self-test beside the deployment in ``folder``; the manifest that names it. No file without a case.

    The deployment runs on one thread, so that the file has the same bytes however many CPUs there are.
    """
    if case is None:
        return manifest
    gates = self_test_gates(job.gates["graph"], job.target.precision, job.task.gates.get("graph", ()))
    with open_deployment(folder, threads=1).deployment as deployment:
        outputs = deployment.runner.run_float32(case.reference.given.arrays)
    roles = job.task.roles
    sure = sure_pixels(case.reference, roles, gates)
    test = SelfTest.of(case.packed, case.settings, outputs, roles, sure)
    path = folder / SELF_TEST_FILE
    path.write_bytes(test.to_bytes())
    entry = {"image": case.image, "gates": gates, "thresholds": thresholds(rule)}
    return replace(manifest, self_test=entry, files={**manifest.files, SELF_TEST_FILE: file_record(path)})
