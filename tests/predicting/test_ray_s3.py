"""`zooport predict --engine ray` from S3 to S3: a server of the same protocol on this machine, by pyarrow's own client.

moto is not installed with zooport's extras, but by make test-all.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from backends import load
from tests.backends.serving.real_server import free_ports
from tests.ray_cluster import ROOT, answers

pytestmark = [pytest.mark.scale, pytest.mark.slow]
pytest.importorskip("ray", reason="the extra scale brings it")
KEYS = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@pytest.fixture
def query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """What a URI needs to reach the server."""
    if any(find_spec(name) is None for name in ("moto", "flask", "flask_cors")):
        pytest.skip("needs moto and flask, a server of S3 for tests; make test-all installs them")
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        while not answers(port):
            assert server.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.2)
        yield f"?scheme=http&endpoint_override=127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def run(detector: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "zooport", "predict", str(detector), *arguments]
    flags = ["--engine", "ray", "--workers", "2", "--block-size", "2"]
    environment = {**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", str(ROOT))}
    return subprocess.run([*command, *flags], check=False, env=environment, capture_output=True, text=True)


def test_images_and_tables_of_a_bucket(detector: Path, photos: Path, query: str) -> None:
    bucket, _ = fs.FileSystem.from_uri(f"s3://cars{query}&allow_bucket_creation=true")
    bucket.create_dir("cars")
    contents = [path.read_bytes() for path in sorted(photos.iterdir())]
    table = BytesIO()
    pq.write_table(pa.table({"image": contents}), table, row_group_size=4)
    files = {f"cars/photos/{number}.png": content for number, content in enumerate(contents)}
    for path, content in {**files, "cars/photos/6.png": b"no image", "cars/t.parquet": table.getvalue()}.items():
        with bucket.open_output_stream(path) as file:
            file.write(content)
    with load(detector) as model:
        expected = [model(cv2.imread(str(path))) for path in sorted(photos.iterdir())]

    out = f"s3://cars/results{query}"
    done = run(detector, f"s3://cars/photos{query}", "--out", out)
    assert done.returncode == 6, done.stderr
    assert "7 images by 2 actors" in done.stdout
    rows = rows_of(bucket, "cars/results")
    assert [row["source"] for row in rows] == [f"s3://cars/photos/{number}.png" for number in range(7)]
    assert rows[6]["fault"].startswith("image s3://cars/photos/6.png: not an image")
    check_equal(rows[:6], expected)
    again = run(detector, f"s3://cars/photos{query}", "--out", out, "--resume")
    assert again.returncode == 6, again.stderr
    assert "0 images by" in again.stdout

    done = run(detector, f"s3://cars/t.parquet{query}", "--out", f"s3://cars/of-table{query}")
    assert done.returncode == 0, done.stderr
    rows = rows_of(bucket, "cars/of-table")
    assert [(row["source"], row["frame"]) for row in rows] == [("s3://cars/t.parquet", number) for number in range(6)]
    check_equal(rows, expected)


def rows_of(bucket: fs.FileSystem, folder: str) -> list[dict[str, Any]]:
    paths = sorted(file.path for file in bucket.get_file_info(fs.FileSelector(folder)))
    parts = [path for path in paths if "/part-" in path]
    assert set(paths) - set(parts) == {f"{folder}/_zooport_plan.parquet", f"{folder}/_zooport_run.json"}
    return [row for path in parts for row in pq.read_table(path, filesystem=bucket).to_pylist()]


def check_equal(rows: list[dict[str, Any]], expected: list[Any]) -> None:
    for row, result in zip(rows, expected, strict=True):
        boxes = [[thing[side] for side in ("x1", "y1", "x2", "y2")] for thing in row["results"]]
        assert np.array_equal(np.array([thing["score"] for thing in row["results"]], np.float32), result.scores)
        assert np.array_equal(np.array(boxes, np.float32).reshape(-1, 4), result.boxes)
