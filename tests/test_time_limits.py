"""A test that does not end is ended, and named."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples import slow_but

ROOT = Path(__file__).parents[1]
HANGS = {
    "python": "while True: pass",
    "c": "lock = ctypes.create_string_buffer(64); [libc.pthread_mutex_lock(lock) for _ in range(2)]",
}
TEST = """
import ctypes

libc = ctypes.CDLL(None)

def test_that_hangs():
    {body}
"""


@pytest.mark.parametrize("hang", slow_but(HANGS, "c"))
def test_a_hanging_test_is_ended_and_named(hang: str, tmp_path: Path) -> None:
    file = tmp_path / "test_hang.py"
    file.write_text(TEST.format(body=HANGS[hang]), encoding="utf-8")
    settings = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), "-o", "timeout=1"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *settings, "-p", "no:cacheprovider", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Timeout" in done.stdout + done.stderr
    assert "test_that_hangs" in done.stdout + done.stderr


@pytest.mark.timeout(7)
def test_a_limit_of_its_own_stays(request: pytest.FixtureRequest) -> None:
    assert [mark.args for mark in request.node.iter_markers("timeout")] == [(7,)]


def test_every_test_has_a_limit_and_slow_ones_a_larger_one(request: pytest.FixtureRequest) -> None:
    general = float(request.config.getini("timeout"))
    assert general > 0
    for item in request.session.items:
        limits = [mark.args[0] for mark in item.iter_markers("timeout")]
        assert all(limit > 0 for limit in limits), item.nodeid
        if item.get_closest_marker("slow"):
            assert max(limits) > general, item.nodeid
