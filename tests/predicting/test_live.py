"""Cameras and streams: no end of their own, so that Ctrl-C is one, and what was seen is written."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import pytest

from backends import load
from tests.predicting.conftest import Predict
from tests.zoo.sources.videos import write_video
from zoo.input_kinds.image import video
from zoo.tables.journal import FILE, LIVE, Journal
from zoo.tables.table import Row


@pytest.fixture(autouse=True)
def camera(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A camera that shows a video."""
    path = str(write_video(tmp_path / "seen.avi", frames=8))

    def live(source: str) -> video.Video | None:
        if "://" in source:  # a clip of a server, whose label has no query
            return video.Video(path, source.partition("?")[0], "clip", live=True)
        return video.Video(path, "camera 0", "camera-0", live=True) if source == "0" else None

    monkeypatch.setattr(video, "live", live)


def test_ctrl_c_writes_what_was_seen(
    predict: Predict, detector: Path, tmp_path: Path, stop_after: Callable[[int, BaseException], None]
) -> None:
    stop_after(5, KeyboardInterrupt())
    out = tmp_path / "out"
    run = predict(detector, 0, "--out", out, "--draw", "--format", "jsonl")
    assert run.code == 130
    assert run.err == f"interrupted; files written: 2, the last {out / 'predictions.jsonl'}\n"
    rows = [json.loads(line) for line in (out / "predictions.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["source"], row["frame"]) for row in rows] == [("camera 0", number) for number in range(5)]
    drawn = cv2.VideoCapture(str(out / "camera-0_drawn.mp4"))
    assert drawn.get(cv2.CAP_PROP_FRAME_COUNT) == 5
    drawn.release()
    assert sorted(path.name for path in out.iterdir()) == ["camera-0_drawn.mp4", "predictions.jsonl"]


def test_a_camera_without_end_has_no_list_of_its_files_without_end(
    predict: Predict, detector: Path, tmp_path: Path, stop_after: Callable[[int, BaseException], None]
) -> None:
    out, data = tmp_path / "out", tmp_path / "data.json"
    run = predict(detector, 0, "--out", out, "--format", "files", "jsonl", "--limit", 6)
    listed = [line for line in run.out.splitlines() if line.startswith(str(out))]
    assert listed == [str(out / "camera-0"), str(out / "predictions.jsonl")]
    assert predict(detector, 0, "--out", out, "--limit", 6, "--json", data).code == 0
    written = [str(out / f"camera-0/{number:06}.json") for number in range(6)]
    assert json.loads(data.read_text(encoding="utf-8"))["written"] == written
    stop_after(5, KeyboardInterrupt())
    assert predict(detector, 0, "--out", out).err == f"interrupted; files written: 5, the last {written[4]}\n"


def test_another_error_writes_what_was_seen(
    predict: Predict, detector: Path, tmp_path: Path, stop_after: Callable[[int, BaseException], None]
) -> None:
    stop_after(5, OSError("the device is gone"))
    out = tmp_path / "out"
    run = predict(detector, 0, "--out", out, "--draw", "--format", "jsonl")
    assert (run.code, run.err.startswith("error: the device is gone; files written: 2, the last ")) == (2, True)
    assert len((out / "predictions.jsonl").read_text(encoding="utf-8").splitlines()) == 5
    assert sorted(path.name for path in out.iterdir()) == ["camera-0_drawn.mp4", "predictions.jsonl"]


def test_the_rows_of_a_run_that_was_killed_are_not_overwritten(
    predict: Predict, detector: Path, tmp_path: Path
) -> None:
    with Journal(tmp_path, {LIVE: True}, resume=False) as journal:  # it is left as a killed run leaves it
        for number in range(2):
            journal.add(Row("camera 0", number, 4, 4, None, {}))
    before = (tmp_path / FILE).read_bytes()
    run = predict(detector, 0, "--out", tmp_path, "--format", "jsonl")
    message = "it alone has the rows of a camera's run that was stopped, a line of JSON each; move it away to keep them"
    assert (run.code, run.err) == (2, f"error: {tmp_path / FILE}: {message}, or remove it\n")
    assert (tmp_path / FILE).read_bytes() == before
    (tmp_path / FILE).rename(tmp_path / "kept.jsonl")
    assert predict(detector, 0, "--out", tmp_path, "--format", "jsonl").code == 0


def test_after_a_fault_nothing_is_left_to_go_on_with(predict: Predict, detector: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes(b"no image")
    out = tmp_path / "out"
    assert predict(detector, tmp_path / "broken.png", 0, "--out", out, "--format", "jsonl").code == 6
    assert [path.name for path in out.iterdir()] == ["predictions.jsonl"]


def test_a_limit_ends_it_well(predict: Predict, detector: Path, tmp_path: Path) -> None:
    run = predict(detector, 0, "--out", tmp_path / "out", "--limit", 3)
    assert (run.code, run.err) == (0, "")
    names = sorted(path.name for path in (tmp_path / "out/camera-0").iterdir())
    assert names == [f"{number:06}.json" for number in range(3)]


def test_a_camera_has_all_threads_for_each_frame(
    predict: Predict, detector: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested = []

    def spy(*arguments: object, **options: object) -> object:
        requested.append(options["workers"])
        return load(*arguments, **options)

    monkeypatch.setattr("zooport.prediction_session.default_threads", lambda: 2)
    monkeypatch.setattr("zooport.prediction_session.load", spy)
    assert predict(detector, 0).code == 0
    assert requested == [None]


def test_a_stream_that_ends_is_a_run_that_ends(predict: Predict, detector: Path) -> None:
    run = predict(detector, 0)
    assert (run.code, run.err) == (0, "")
    assert "camera 0, frame 7: " in run.out


def test_a_stream_without_a_frame_and_a_camera_that_is_unplugged_are_errors(
    predict: Predict, detector: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, seen = tmp_path / "out", str(tmp_path / "seen.avi")

    class Capture:
        """OpenCV's, of a camera that gives the frames of a video, or none: the machine has no camera."""

        def __init__(self, _source: object, *_: object) -> None:
            self.file = capture(seen)
            self.left = frames

        def grab(self) -> bool:
            self.left -= 1
            return self.left >= 0 and bool(self.file.grab())

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

    capture = cv2.VideoCapture
    monkeypatch.setattr(cv2, "VideoCapture", Capture)
    for frames, source in ((0, "rtsp://camera"), (0, 0), (3, 0)):
        camera = video.Video(source, "camera 0", "camera-0", live=True)
        monkeypatch.setattr(video, "live", lambda _, camera=camera: camera)
        run = predict(detector, 0, "--out", out, "--format", "jsonl")
        assert run.code == 2
        words = f"no frame after {frames}; check the cable" if source == 0 else "the stream gives no frame; check the"
        assert f"error: camera 0: {words}" in run.err
    assert len((out / "predictions.jsonl").read_text(encoding="utf-8").splitlines()) == 3


def test_a_camera_that_does_not_answer_leaves_nothing(
    predict: Predict, detector: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = video.Video(str(tmp_path / "none.avi"), "camera 0", "camera-0", live=True)
    monkeypatch.setattr(video, "live", lambda source: missing if source == "0" else None)
    run = predict(detector, 0, "--out", tmp_path / "out")
    assert (run.code, run.err.startswith("error: camera 0: ")) == (2, True)
    assert not list((tmp_path / "out").iterdir())


def test_three_streams_that_differ_in_their_query_alone_are_all_read(
    predict: Predict, detector: Path, tmp_path: Path
) -> None:
    addresses = [f"http://host/clip?id={number}" for number in range(3)]
    run = predict(detector, *addresses, "--out", tmp_path / "out", "--format", "jsonl", "--workers", 1)
    assert (run.code, run.err) == (0, "")
    assert len((tmp_path / "out/predictions.jsonl").read_text(encoding="utf-8").splitlines()) == 3 * 8
