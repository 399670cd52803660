"""Going on after a stop: nothing is computed twice, nothing is lost, and what failed is tried again."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.predicting.conftest import Predict
from tests.zoo.sources.videos import write_video
from zoo.tables.journal import FILE, Journal
from zoo.tables.table import Row

ROOT = Path(__file__).parents[2]
KILLED = """
import os, signal, sys
from zoo.tables.journal import Journal
add = Journal.add
def killed(journal, row):
    add(journal, row)
    if row.source.endswith("3.png"):
        journal._file.write(b'{"row": {"source": "half a li')
        journal._file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
Journal.add = killed
from zooport.verbs import run_verb
run_verb(["predict", *sys.argv[1:]])
"""
Stop = Callable[[int, BaseException], None]


def computed(path: Path) -> int:
    return int(json.loads(path.read_text(encoding="utf-8"))["inputs"])


@pytest.fixture
def whole(predict: Predict, detector: Path, photos: Path, tmp_path: Path) -> str:
    """The table of a run that nothing stopped."""
    assert predict(detector, photos, "--out", tmp_path / "whole", "--format", "jsonl").code == 0
    return (tmp_path / "whole/predictions.jsonl").read_text(encoding="utf-8")


def test_a_run_that_was_killed_goes_on(
    predict: Predict, detector: Path, photos: Path, tmp_path: Path, whole: str
) -> None:
    out, data = tmp_path / "out", tmp_path / "data.json"
    arguments = [str(detector), str(photos), "--out", str(out), "--format", "jsonl"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", KILLED, *arguments], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert [path.name for path in out.iterdir()] == [FILE]
    run = predict(*arguments, "--resume", "--json", data)
    assert (run.code, run.err, computed(data)) == (0, "", 2)
    assert (out / "predictions.jsonl").read_text(encoding="utf-8") == whole
    assert [path.name for path in out.iterdir()] == ["predictions.jsonl"]


def test_a_run_that_was_interrupted_says_how_to_go_on(
    predict: Predict,
    detector: Path,
    photos: Path,
    tmp_path: Path,
    whole: str,
    stop_after: Stop,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, data = tmp_path / "out", tmp_path / "data.json"
    stop_after(2, KeyboardInterrupt())
    run = predict(detector, photos, "--out", out, "--format", "jsonl", "files")
    assert (run.code, run.err) == (
        130,
        f"interrupted; files written: 2, the last {out / '1.json'}; continue with --resume\n",
    )
    monkeypatch.undo()
    run = predict(detector, photos, "--out", out, "--format", "jsonl", "files", "--resume", "--json", data)
    assert (run.code, computed(data)) == (0, 4)
    assert (out / "predictions.jsonl").read_text(encoding="utf-8") == whole


def test_what_failed_is_tried_again(predict: Predict, detector: Path, photos: Path, tmp_path: Path, whole: str) -> None:
    out, data, content = tmp_path / "out", tmp_path / "data.json", (photos / "5.png").read_bytes()
    (photos / "5.png").write_bytes(b"no image")
    arguments = [detector, photos, "--out", out, "--format", "jsonl"]
    assert predict(*arguments).code == 6
    assert predict(*arguments, "--resume").code == 6
    (photos / "5.png").write_bytes(content)
    assert predict(*arguments, "--resume", "--json", data).code == 0
    assert computed(data) == 1
    assert (out / "predictions.jsonl").read_text(encoding="utf-8") == whole


@pytest.mark.parametrize(("draw", "again"), [([], 4), (["--draw"], 10)])
def test_frames_of_a_video(
    predict: Predict,
    detector: Path,
    tmp_path: Path,
    stop_after: Stop,
    monkeypatch: pytest.MonkeyPatch,
    draw: list[str],
    again: int,
) -> None:
    """A video that is drawn begins anew: half of one is no video."""
    video, out, data = write_video(tmp_path / "a.avi"), tmp_path / "out", tmp_path / "data.json"
    arguments = [detector, video, "--out", out, "--format", "jsonl", *draw]
    stop_after(6, KeyboardInterrupt())
    assert predict(*arguments).code == 130
    assert [path.name for path in out.iterdir()] == [FILE]
    monkeypatch.undo()
    run = predict(*arguments, "--resume", "--json", data)
    assert (run.code, computed(data)) == (0, again)
    rows = (out / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(row)["frame"] for row in rows] == list(range(10))
    if draw:
        drawn = cv2.VideoCapture(str(out / "a_drawn.mp4"))
        assert drawn.get(cv2.CAP_PROP_FRAME_COUNT) == 10
        drawn.release()


def test_other_settings_are_refused(predict: Predict, detector: Path, photos: Path, tmp_path: Path) -> None:
    (photos / "5.png").write_bytes(b"no image")
    out = tmp_path / "out"
    assert predict(detector, photos, "--out", out, "--format", "csv").code == 6
    run = predict(detector, photos, "--out", out, "--format", "csv", "jsonl", "--score", "0.5", "--resume")
    assert run.code == 2
    assert f"--resume: {out} was started with another score, format; give the same, or start again" in run.err


def test_two_at_once_do_not_mix(predict: Predict, detector: Path, photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with Journal(out, {}, resume=False) as other:
        other.add(Row("a.png", None, 1, 1, None, {}))
        before = other.path.read_bytes()
        for more in ([], ["--resume"]):
            done = predict(detector, photos, "--out", out, *more)
            assert (done.code, done.err) == (
                2,
                f"error: {out}: another run is writing into it; wait until it has ended, or give another folder\n",
            )
        assert other.path.read_bytes() == before
    assert predict(detector, photos, "--out", out).code == 0
    assert not other.path.exists()


def test_a_damaged_journal_is_named(predict: Predict, detector: Path, photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for content in (b"no json\n", b"{}\n", b'{"settings": 3}\n', b"\xff\n"):
        (out / FILE).write_bytes(content)
        run = predict(detector, photos, "--out", out, "--resume")
        assert (run.code, run.err.count("\n")) == (2, 1)
        assert f"{out / FILE}: line 1 is damaged; start again without --resume" in run.err
    assert predict(detector, photos, "--out", out).code == 0
    assert np.all([not path.name.startswith(".") for path in out.iterdir()])


def test_a_write_that_failed_half_way_hides_no_row(tmp_path: Path) -> None:
    with Journal(tmp_path, {}, resume=False) as journal:
        journal.add(Row.from_dict({"source": "a.png"}))
        journal._file.write(b'{"row": {"sour')
        journal._file.flush()
        assert [row.source for row in journal.rows()] == ["a.png"]


def test_the_fault_of_a_recording_is_gone_where_a_later_run_reads_it_to_its_end(tmp_path: Path) -> None:
    good = Row.from_dict({"source": "a.avi", "frame": 0})
    with Journal(tmp_path, {}, resume=False) as journal:
        journal.add(good)
        journal.add(Row.from_dict({"source": "a.avi", "fault": "ends after 1 of 2 frames"}))
    with Journal(tmp_path, {}, resume=True) as journal:
        assert len(list(journal.rows())) == 2
        journal.end("a.avi")
        assert [row.fault for row in journal.rows()] == [None]
    with Journal(tmp_path, {}, resume=True) as journal:
        assert [row.fault for row in journal.rows()] == [None]
