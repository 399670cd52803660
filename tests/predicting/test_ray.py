"""`zooport predict --engine ray` on real clusters of this machine: nothing is lost, and nothing is done twice."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pyarrow.parquet as pq
import pytest

from backends import load
from tests.predicting.conftest import Predict
from tests.ray_cluster import ROOT, listening_addresses, pool_processes, two_nodes

pytestmark = [pytest.mark.scale, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
ray = pytest.importorskip("ray", reason="the extra scale brings it")
IMAGES, BLOCK = 120, 4
AFTERWARDS = """
from backends.scale.cluster import cluster
with cluster(None) as ray:
    pass
try:
    ray.put(1)
except Exception:
    print("refused")
"""
COLLECTED = """
from backends.scale.cluster import cluster
with cluster(None) as ray:
    rows = ray.data.range(4).map_batches(lambda batch: batch).take_all()
    names = [actor["name"] for actor in ray.util.list_named_actors(all_namespaces=True)]
    print(len(rows), [name for name in names if "usage" in name.lower()])
"""
SLOW = """
import time
from backends.scale import part
row = part.Part.row
def slowly(*arguments):
    time.sleep(0.1)
    return row(*arguments)
part.Part.row = slowly
"""
"""For `everywhere`: an image takes at least 0.1 s, so that there is time to kill something."""


DEADLY = """
import os
from backends.scale import part
row = part.Part.row
def deadly(self, prediction, result):
    if prediction.fault is None and prediction.item.source.label.endswith("5.png"):
        os._exit(1)
    return row(self, prediction, result)
part.Part.row = deadly
"""
"""As a crash in native code: the process of an actor ends at 5.png."""
DEADLY_DEPLOYMENT = """
import os
from backends.scale import shipped
shipped.ShippedDeployment.opened = lambda *_: os._exit(1)
"""


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Images of all brightness; 050.png is none."""
    folder = tmp_path / "many"
    folder.mkdir()
    random = np.random.default_rng(0)
    for number in range(IMAGES):
        image = random.integers(0, 40, (64, 96, 3)) + number % 6 * 40
        cv2.imwrite(str(folder / f"{number:03}.png"), image.astype(np.uint8))
    (folder / "050.png").write_bytes(b"no image")
    return folder


@pytest.fixture
def everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """everywhere(code): every process that starts later runs it first."""

    def arrange(code: str) -> None:
        (tmp_path / "site").mkdir()
        (tmp_path / "site/sitecustomize.py").write_text(code)
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "site"), str(ROOT)]))

    return arrange


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The first node has room for both actors, the second for one."""
    with two_nodes(monkeypatch) as nodes:
        yield nodes


def command(deployment: Path, *arguments: object) -> list[str]:
    return [sys.executable, "-m", "zooport", "predict", str(deployment), *map(str, arguments), "--engine", "ray"]


def rows(out: Path) -> dict[str, dict[str, Any]]:
    """Of each image, by its name; each image has one."""
    parts = [row for path in sorted(out.glob("part-*.parquet")) for row in pq.read_table(path).to_pylist()]
    by_name = {Path(row["source"]).name: row for row in parts}
    assert len(by_name) == len(parts)
    return by_name


def check_equal_to_load(out: Path, deployment: Path, folder: Path) -> None:
    parts = rows(out)
    assert sorted(parts) == [f"{number:03}.png" for number in range(IMAGES)]
    assert [name for name, row in parts.items() if row["fault"]] == ["050.png"]
    with load(deployment) as model:
        for name, row in parts.items():
            if name != "050.png":
                result = model(cv2.imread(str(folder / name)))
                scores = np.array([thing["score"] for thing in row["results"]], np.float32)
                boxes = [[thing[side] for side in ("x1", "y1", "x2", "y2")] for thing in row["results"]]
                assert np.array_equal(scores, result.scores)
                assert np.array_equal(np.array(boxes, np.float32).reshape(-1, 4), result.boxes)
                assert [thing["label"] for thing in row["results"]] == result.labels.tolist()


def wait_for_parts(out: Path, count: int, process: subprocess.Popen[str]) -> None:
    while len(list(out.glob("part-*.parquet"))) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.2)


def start(cluster: Any, detector: Path, many: Path, out: Path) -> subprocess.Popen[str]:
    arguments = (many, "--out", out, "--workers", 2, "--block-size", BLOCK, "--address", cluster.address)
    environment = {**os.environ, "RAY_AUTH_MODE": os.environ.get("RAY_AUTH_MODE", "disabled")}
    return subprocess.Popen(
        command(detector, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def test_a_killed_actor_and_a_killed_machine_cost_no_row(
    cluster: Any, detector: Path, many: Path, tmp_path: Path, everywhere: Callable[[str], None]
) -> None:
    everywhere(SLOW)
    out = tmp_path / "out"
    process = start(cluster, detector, many, out)
    wait_for_parts(out, 2, process)
    done = len(list(out.glob("part-*.parquet")))
    os.kill(pool_processes()[0], signal.SIGKILL)
    wait_for_parts(out, done + 4, process)
    cluster.remove_node(cluster.second, allow_graceful=False)
    output, errors = process.communicate()
    assert process.returncode == 6, errors
    assert f"1 of {IMAGES} inputs failed, the first: image {many / '050.png'}: not an image" in errors
    assert f"{IMAGES} images by 2 actors" in output
    check_equal_to_load(out, detector, many)


def test_a_killed_driver_continues_and_repeats_no_finished_block(
    predict: Predict, detector: Path, many: Path, tmp_path: Path, everywhere: Callable[[str], None]
) -> None:
    everywhere(SLOW)
    out, data = tmp_path / "out", tmp_path / "data.json"
    arguments = (many, "--out", out, "--workers", 2, "--block-size", BLOCK)
    process = subprocess.Popen(command(detector, *arguments), start_new_session=True, text=True)
    wait_for_parts(out, 6, process)
    assert listening_addresses(process.pid) == {"127.0.0.1"}
    process.kill()
    process.wait()
    time.sleep(5)  # its actors end with it
    finished = {path.name: path.stat().st_mtime_ns for path in out.glob("part-*.parquet")}
    assert 6 <= len(finished) < IMAGES // BLOCK
    run = predict(detector, *arguments, "--engine", "ray", "--resume", "--json", data)
    assert run.code == 6, run.err
    assert {name: (out / name).stat().st_mtime_ns for name in finished} == finished
    content = json.loads(data.read_text())
    assert content["inputs"] + content["inputs_before"] == IMAGES
    assert content["inputs_before"] == BLOCK * len(finished)
    check_equal_to_load(out, detector, many)


def test_an_image_that_ends_its_actor_ends_the_run_in_one_line(
    predict: Predict, detector: Path, photos: Path, tmp_path: Path, everywhere: Callable[[str], None]
) -> None:
    """Not before it has ended a few. What is finished stays, and without the image --resume finishes the run."""
    everywhere(DEADLY)
    out = tmp_path / "out"
    arguments = [detector, photos, "--engine", "ray", "--out", out, "--workers", 1, "--block-size", 2]
    run = predict(*arguments)
    assert (run.code, run.err.count("\n")) == (2, 1), run.err
    assert run.err.startswith(
        f"error: block 2 ({photos / '4.png'} to {photos / '5.png'}): its actor ended 4 times, in a crash or for lack "
        "of memory; find the image without --engine ray, and replace or remove it, or give fewer --workers"
    )
    assert run.err.endswith("more memory for each; continue with --resume\n")
    finished = {path.name: path.stat().st_mtime_ns for path in out.glob("part-*.parquet")}
    assert sorted(finished) == ["part-00000000.parquet", "part-00000001.parquet"]
    (photos / "5.png").unlink()
    run = predict(*arguments, "--resume")
    assert run.code == 6, run.err
    assert {name: (out / name).stat().st_mtime_ns for name in finished} == finished
    assert [name for name, row in rows(out).items() if row["fault"]] == ["5.png"]
    assert len(rows(out)) == 6


def test_a_deployment_that_ends_its_actor_ends_the_run_in_one_line(
    predict: Predict, detector: Path, photos: Path, tmp_path: Path, everywhere: Callable[[str], None]
) -> None:
    everywhere(DEADLY_DEPLOYMENT)
    run = predict(detector, photos, "--engine", "ray", "--out", tmp_path / "out", "--workers", 1)
    assert (run.code, run.err.count("\n")) == (4, 1), run.err
    assert run.err.startswith("error: --engine ray: the model does not load: its actor ended 4 times, in a crash or ")


def test_what_is_left_of_a_run_starts_no_second_cluster() -> None:
    """A thread of Ray Data's that calls Ray after the run has ended would."""
    command = [sys.executable, "-c", AFTERWARDS]
    run = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True)
    assert run.stdout == "refused\n"


def test_nothing_collects_how_the_data_are_used() -> None:
    """Ray Data asks at each run whether it may."""
    environment = {name: value for name, value in os.environ.items() if name != "RAY_USAGE_STATS_ENABLED"}
    command = [sys.executable, "-c", COLLECTED]
    run = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert run.stdout == "4 []\n"


def test_two_actors_on_two_cpus_do_not_wait_for_readers(
    predict: Predict, detector: Path, many: Path, tmp_path: Path
) -> None:
    """Nothing but the actors takes a CPU; a third one is refused before the run, in one line."""
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        out = tmp_path / "out"
        run = predict(detector, many, "--engine", "ray", "--out", out, "--workers", 3)
        assert run.code == 2
        assert run.err.startswith(
            "error: --workers 3: each actor takes 1 CPU, and the cluster has 2 CPUs, so 1 of them"
        )
        assert not out.exists()
        run = predict(detector, many.as_uri(), "--engine", "ray", "--out", out.as_uri(), "--workers", 2)
        assert run.code == 6, run.err
        check_equal_to_load(out, detector, many)
    finally:
        ray.shutdown()
