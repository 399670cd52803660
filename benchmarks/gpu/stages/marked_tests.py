"""(b) The tests that are marked `gpu`."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from xml.etree.ElementTree import Element, parse

from measured import ROOT

from gpu.lacks import no_device
from gpu.stage import Cell, Findings, Place, Stage

MARK = "pytest.mark.gpu"
OUTCOMES = ("failure", "error", "skipped")


def marked_files() -> list[Path]:
    """The files of tests that have the mark."""
    return [path for path in sorted((ROOT / "tests").rglob("test_*.py")) if MARK in path.read_text(encoding="utf-8")]


def cells(place: Place) -> Iterator[Cell]:
    """One for each file."""
    for path in place.one_or_all(marked_files()):
        name = path.relative_to(ROOT).as_posix()
        yield Cell("tests", name, partial(_run, name), alone=False)


def _run(name: str, place: Place, findings: Findings) -> None:
    del place  # a test that needs a device says itself why it is skipped
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        # a warning of another version of a package is no fault of what is tested here
        options = ["-q", "-m", "gpu", "-p", "no:cacheprovider", "-o", "filterwarnings=", f"--junitxml={report}"]
        command = [sys.executable, "-m", "pytest", *options, str(ROOT / name)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        if not report.is_file():
            findings.fault("pytest", done.stderr or done.stdout)
            return
        _read(list(parse(report).getroot().iter("testcase")), findings)


def _read(tests: list[Element], findings: Findings) -> None:
    """How many passed, failed and were skipped; of the others why."""
    counts, reasons = dict.fromkeys(("passed", *OUTCOMES), 0), set()
    for test in tests:
        outcome = next((kind for kind in OUTCOMES if test.find(kind) is not None), "passed")
        counts[outcome] += 1
        if outcome == "passed":
            continue
        element = test.find(outcome)
        message = "" if element is None else element.get("message", "")
        if outcome == "skipped":
            reasons.add(message)
        else:
            findings.fault(test.get("name", "?"), message or (element.text or "" if element is not None else ""))
    findings.add({**counts, "reasons of skips": "; ".join(sorted(reasons)) or None})


STAGE = Stage(2, "tests", "Do the tests that need a device pass?", cells, no_device, cell_seconds=400)
