"""A newcomer's walk through an installed zooport: from its help to predictions that a COCO evaluator confirms."""

import json
import shutil
from pathlib import Path

import cv2
import pytest

from tests.predicting.test_tables import stats
from tests.zooport.conftest import ROOT, Command

CONFIG = "ssdlite_r18-fpn_digits"
VAL = ROOT / "zoo/data/digits/val"
FRAMES = 3


def write_source(folder: Path) -> None:
    """Two images, one that is cut off, and a video of them."""
    folder.mkdir()
    first, second = sorted((VAL / "images").iterdir())[:2]
    shutil.copy(first, folder / "street.jpg")
    (folder / "broken.jpg").write_bytes(second.read_bytes()[:400])
    image = cv2.imread(str(first))
    assert image is not None
    video = cv2.VideoWriter(str(folder / "ride.avi"), cv2.VideoWriter.fourcc(*"MJPG"), 5, image.shape[1::-1])
    for _ in range(FRAMES):
        video.write(image)
    video.release()


@pytest.mark.slow
def test_from_help_to_ap(export: Command, home: Path, tmp_path: Path) -> None:
    assert "commands:" in export(home, "zooport", "--help").stdout
    assert CONFIG in export(home, "zooport", "list").stdout

    done = export(home, "zooport", "deploy", CONFIG, "--json", "-", "-q", ZOOPORT_HOME=str(ROOT))
    assert done.returncode == 0, done.stderr
    deployment = home / json.loads(done.stdout)["deployment"]

    write_source(tmp_path / "source")
    arguments = ("--out", "seen", "--draw", "--format", "files", "jsonl")
    done = export(home, "zooport", "predict", deployment, tmp_path / "source", *arguments)
    assert done.returncode == 6, done.stderr
    assert "broken.jpg" in done.stderr
    rows = [json.loads(line) for line in (home / "seen/predictions.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 2 + FRAMES
    assert sorted(path.name for path in (home / "seen").rglob("*_drawn.*")) == ["ride_drawn.mp4", "street_drawn.png"]

    annotations = VAL / "annotations.json"
    tables = ("--out", "found", "--format", "coco", "--annotations", annotations)
    done = export(home, "zooport", "predict", deployment, VAL / "images", *tables)
    assert done.returncode == 0, done.stderr
    arguments = (CONFIG, "--deployment", deployment, "--json", "-", "-q")
    done = export(home, "zooport", "evaluate", *arguments, ZOOPORT_HOME=str(ROOT))
    assert done.returncode == 0, done.stderr
    row = next(row for row in json.loads(done.stdout)["rows"] if row["deployment"])
    found = stats(annotations, home / "found/predictions.coco.json", "bbox")
    assert found[0] == pytest.approx(row["figures"]["coco/box_AP"], abs=1e-4)  # what --json rounds to
