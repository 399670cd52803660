"""`zooport predict --engine ray --address ray://...`: a process that is not of the cluster, by Ray's client server."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import cv2
import numpy as np
import pyarrow.parquet as pq
import pytest

from backends import load
from tests.backends.serving.real_server import free_ports
from tests.ray_cluster import ROOT, answers, listening_addresses

pytestmark = [pytest.mark.scale, pytest.mark.slow]
pytest.importorskip("ray", reason="the extra scale brings it")
pytest.importorskip("grpc", reason="the extra scale brings it: Ray's client needs it")
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(ROOT),
    "RAY_AUTH_MODE": "disabled",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # what binds all ports to 127.0.0.1
    "RAY_USAGE_STATS_ENABLED": "0",
}


@contextmanager
def client_server() -> Iterator[tuple[int, int]]:
    """A cluster of two CPUs: its process, and the port of its client server."""
    port, client = free_ports(2)
    with TemporaryDirectory(prefix="ray-") as folder:  # of a short name: Ray's sockets are in it
        flags = {
            "--node-ip-address": "127.0.0.1",
            "--port": port,
            "--ray-client-server-port": client,
            "--min-worker-port": 0,
            "--max-worker-port": 0,
            "--num-cpus": 2,
            "--include-dashboard": "false",
            "--temp-dir": folder,
        }
        words = [str(word) for flag in flags.items() for word in flag]
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", *words]
        with Path(folder, "log").open("wb") as log:
            process = subprocess.Popen(command, env=ENVIRONMENT, stdout=log, stderr=log, start_new_session=True)
        try:
            while not answers(client):
                assert process.poll() is None, Path(folder, "log").read_text()
                time.sleep(0.5)
            yield process.pid, client
        finally:
            process.terminate()
            process.wait()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_a_run_by_the_client_is_that_of_load(detector: Path, photos: Path, tmp_path: Path) -> None:
    (photos / "6.png").write_bytes(b"no image")
    out = tmp_path / "out"
    flags = ["--engine", "ray", "--workers", "2", "--block-size", "2", "--out", str(out)]
    with client_server() as (process, port):
        assert listening_addresses(process) == {"127.0.0.1"}
        address = f"ray://127.0.0.1:{port}"
        command = [sys.executable, "-m", "zooport", "predict", str(detector), str(photos), *flags, "--address", address]
        run = subprocess.run(command, check=False, env=ENVIRONMENT, capture_output=True, text=True)
        assert run.returncode == 6, run.stderr
        assert "7 images by 2 actors" in run.stdout
        again = subprocess.run([*command, "--resume"], check=False, env=ENVIRONMENT, capture_output=True, text=True)
        assert again.returncode == 6, again.stderr
        assert "0 images by" in again.stdout
    rows = [row for path in sorted(out.glob("part-*.parquet")) for row in pq.read_table(path).to_pylist()]
    assert [Path(row["source"]).name for row in rows] == [f"{number}.png" for number in range(7)]
    assert [row["fault"] is None for row in rows] == [True] * 6 + [False]
    with load(detector) as model:
        for row in rows[:6]:
            result = model(cv2.imread(row["source"]))
            assert np.array_equal(np.array([thing["score"] for thing in row["results"]], np.float32), result.scores)
            assert [thing["label"] for thing in row["results"]] == result.labels.tolist()
