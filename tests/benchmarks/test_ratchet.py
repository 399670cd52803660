"""benchmarks/ratchet.py: what it calls slower, and what the noise of the machine hides."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("benchmarks")
ROOT = Path(__file__).resolve().parents[2]
OLD = [0.10, 0.11, 0.10]


@pytest.mark.parametrize(
    ("new", "again", "word"),
    [
        ([0.10, 0.11, 0.10], [0.10, 0.11, 0.10], ""),
        ([0.08, 0.09, 0.08], [0.10, 0.11, 0.10], ""),
        ([0.104, 0.114, 0.104], [0.10, 0.11, 0.10], ""),
        ([0.11, 0.12, 0.11], [0.10, 0.11, 0.10], "SLOWER"),
        ([0.11, 0.12, 0.11], [0.104, 0.115, 0.104], "SLOWER"),
        ([0.108, 0.118, 0.108], [0.104, 0.115, 0.104], ""),
        ([0.20, 0.22, 0.20], [0.12, 0.13, 0.12], "too noisy"),
    ],
)
def test_slower_is_above_the_limit_and_the_noise(new: list[float], again: list[float], word: str) -> None:
    import ratchet

    row = ratchet._figures({"old": OLD, "new": new, "old2": again})
    assert row["ms"] == pytest.approx(100)
    assert ratchet._word(row) == word


@pytest.mark.slow
def test_a_commit_against_itself_leaves_no_working_tree() -> None:
    command = [sys.executable, "benchmarks/ratchet.py", "HEAD", "HEAD", "--only", "srcnn", "--rounds", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3, 4), done.stderr  # two rounds on a busy machine may say anything
    assert "call: srcnn_x3_photographs" in done.stdout
    trees = subprocess.run(["git", "worktree", "list"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "zooport-ratchet-" not in trees


def test_no_side_is_always_behind_another() -> None:
    """A process that has just run still takes the CPUs: the one behind it is slower."""
    import ratchet

    orders = [ratchet.turns(["old", "new", "old2"], number) for number in range(6)]
    assert len({tuple(order) for order in orders}) == 6
    for place in range(3):
        assert sorted(order[place] for order in orders) == ["new", "new", "old", "old", "old2", "old2"]
