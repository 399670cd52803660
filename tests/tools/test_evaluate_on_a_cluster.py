"""`zooport evaluate --engine ray` on a real cluster of two nodes: what dies in the run changes no figure."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.ray_cluster import ROOT, pool_processes, two_nodes
from tests.tools.tiny import Tiny

pytestmark = [pytest.mark.scale, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
pytest.importorskip("ray", reason="the extra scale brings it")
SECONDS = 4  # of an image, so that there is time to kill something
MODULE = """
import os
import time

from tests.tools.tiny import TinySegmentor


class SlowSegmentor(TinySegmentor):
    def forward(self, images, mode="tensor"):
        time.sleep(float(os.environ.get("SECONDS_OF_AN_IMAGE", "0")))
        return super().forward(images, mode)
"""


@pytest.fixture
def slow(voc: Tiny, monkeypatch: pytest.MonkeyPatch) -> Tiny:
    """The config with a data set; its model comes from a module beside it, and can be slow."""
    (voc.folder / "slow_segmentor.py").write_text(MODULE, encoding="utf-8")
    text = voc.config.read_text(encoding="utf-8") + '\nmodel = dict(type="slow_segmentor.SlowSegmentor")\n'
    voc.config.write_text(text, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # the last digits of PyTorch depend on it
    monkeypatch.setenv("RAY_AUTH_MODE", os.environ.get("RAY_AUTH_MODE", "disabled"))
    return voc


def start(slow: Tiny, *flags: object) -> "subprocess.Popen[str]":
    arguments = slow.arguments("--json", slow.folder / "rows.json", *flags)
    command = [sys.executable, "-m", "zooport", "evaluate", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def figures(slow: Tiny, process: "subprocess.Popen[str]") -> Sequence[Any]:
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    rows = json.loads((slow.folder / "rows.json").read_text())["rows"]
    return [[row[key] for key in ("name", "figures", "difference", "interval", "gate", "verdict")] for row in rows]


@pytest.fixture
def cluster(slow: Tiny, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("SECONDS_OF_AN_IMAGE", str(SECONDS))
    with two_nodes(monkeypatch) as nodes:
        monkeypatch.delenv("SECONDS_OF_AN_IMAGE")  # the actors have it from the nodes
        yield nodes


def test_a_killed_actor_and_a_killed_machine_change_no_figure(cluster: Any, slow: Tiny) -> None:
    expected = figures(slow, start(slow))
    process = start(slow, "--engine", "ray", "--address", cluster.address, "--workers", 2)
    while len(pool_processes()) < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.2)
    time.sleep(SECONDS)
    os.kill(pool_processes()[0], signal.SIGKILL)
    time.sleep(SECONDS)
    assert process.poll() is None, process.communicate()
    cluster.remove_node(cluster.second, allow_graceful=False)
    assert figures(slow, process) == expected
