"""tools/sensitivity.py: its errors, one line each."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFIG = "configs/segmentation/fcn_r18_digits.py"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "tools/sensitivity.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env={"PYTHONPATH": str(ROOT)})


def test_help_has_an_example() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert "zooport sensitivity configs/segmentation/fcn_r18_digits.py" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([CONFIG, "--images", "0"], "error: --images 0: expected 1 or more\n"),
        ([CONFIG, "--depth", "-1"], "error: --depth -1: expected 1 or more\n"),
    ],
)
def test_a_wrong_number_is_one_line(arguments: list[str], words: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr == words
