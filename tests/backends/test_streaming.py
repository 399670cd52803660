"""A model over sources: order, faults that stop nothing, batches, and a clean end."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from backends import load
from tests.examples import slow_but
from tests.zoo.sources.videos import SIZE, write_video
from zoo.errors import InputError
from zoo.preprocess import Preprocess

ROOT = Path(__file__).parents[2]
INTERRUPTED = """
import sys, threading
from backends import load
with load(sys.argv[1], workers=int(sys.argv[3]) or None) as model:
    try:
        for number, prediction in enumerate(model.stream(sys.argv[2])):
            if number == 1:
                print("two", flush=True)
                while True:  # a signal just before a wait does not end it
                    threading.Event().wait(0.1)
    except KeyboardInterrupt:
        pass
print([thread.name for thread in threading.enumerate()])
"""
LEFT_OPEN = """
import sys
from backends import load
stream = load(sys.argv[1], workers=int(sys.argv[3]) or None).stream(sys.argv[2])
print(next(stream).fault)
"""
WORKERS = pytest.mark.parametrize("workers", [None, 1, 3])


@pytest.fixture
def folder(tmp_path: Path, images: list[np.ndarray]) -> Path:
    """Images of rising brightness, a file that is none, and one too small for any model."""
    place = tmp_path / "images"
    place.mkdir()
    for number, image in enumerate(images):
        cv2.imwrite(str(place / f"{number}.png"), image)
    (place / "4a.png").write_bytes(b"no image")
    cv2.imwrite(str(place / "5a.png"), np.zeros((20, 50, 3), np.uint8))
    return place


@WORKERS
@pytest.mark.parametrize("batch", [(1, 2, 4), 3])
def test_results_in_order_and_faults_between_them(
    folder: Path,
    deploy: Callable[..., Path],
    images: list[np.ndarray],
    batch: tuple[int, int, int] | int,
    workers: int | None,
) -> None:
    with load(deploy(batch=batch), workers=workers) as model:
        predictions = list(model.stream(folder))
        expected = model(images)
    assert [Path(each.source).name for each in predictions] == sorted(path.name for path in folder.iterdir())
    faults = {Path(each.source).name: each.fault for each in predictions if each.fault is not None}
    assert list(faults) == ["4a.png", "5a.png"]
    assert "not an image that can be read" in str(faults["4a.png"])
    assert "expected 32 or more on each side" in str(faults["5a.png"])
    assert [each.result for each in predictions if each.fault is None] == expected
    bad = next(each for each in predictions if each.fault is not None)
    with pytest.raises(InputError, match="not an image that can be read"):
        _ = bad.result
    np.testing.assert_array_equal(predictions[0].value, images[0])
    assert predictions[0].draw().shape == images[0].shape


@WORKERS
def test_an_image_that_the_model_refuses_is_a_fault_too(
    folder: Path, deploy: Callable[..., Path], workers: int | None
) -> None:
    cv2.imwrite(str(folder / "3a.png"), np.zeros((300, 40, 3), np.uint8))
    keep = Preprocess(None, resize="keep")
    with load(deploy(dynamic_size=True, preprocess=keep, batch=2), workers=workers) as model:
        faults = {Path(each.source).name: each.fault for each in model.stream(folder) if each.fault is not None}
    assert list(faults) == ["3a.png", "4a.png", "5a.png"]
    assert re.search(r"3a\.png: .*axis H must be 32 to 256", str(faults["3a.png"]))


@WORKERS
def test_a_video_frame_by_frame(tmp_path: Path, detector: Path, workers: int | None) -> None:
    path = write_video(tmp_path / "a.avi", frames=6)
    with load(detector, workers=workers) as model:
        predictions = list(model.stream(path))
        assert [each.frame for each in predictions] == list(range(6))
        assert [each.label for each in predictions][:2] == [f"{path}, frame 0", f"{path}, frame 1"]
        assert predictions[-1].value.shape == (*SIZE, 3)
        assert len(predictions[-1].result) == len(model(predictions[-1].value))  # type: ignore[arg-type]


def test_what_is_wrong_with_the_call_is_said_at_once(folder: Path, detector: Path, deploy: Callable[..., Path]) -> None:
    with load(detector) as model:
        with pytest.raises(InputError, match=r"none\.jpg: no such file"):
            model.stream("none.jpg")
        with pytest.raises(InputError, match='unknown input "scale"'):
            model.stream(folder, scale=2)
        with pytest.raises(InputError, match="ahead is 0, expected an integer"):
            model.stream(folder, ahead=0)
    decoded = load(deploy(task="SemanticSegmentation", level="decoded"))
    with decoded, pytest.raises(InputError, match='output level "decoded" has no results'):
        decoded.stream(folder)


@WORKERS
def test_closing_it_ends_the_thread(folder: Path, detector: Path, workers: int | None) -> None:
    with load(detector, workers=workers) as model:
        stream = model.stream(folder)
        next(stream)
        stream.close()
        assert "zooport-read-ahead" not in {thread.name for thread in threading.enumerate()}
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("zooport")]


@pytest.mark.parametrize("workers", slow_but([0, 2], 2))
def test_a_stream_that_is_left_open_ends_with_python(folder: Path, detector: Path, workers: int) -> None:
    command = [sys.executable, "-c", LEFT_OPEN, str(detector), str(folder), str(workers)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "None\n", "")


@pytest.mark.parametrize("workers", slow_but([0, 2], 2))
def test_ctrl_c_ends_the_threads(folder: Path, detector: Path, workers: int) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(detector), str(folder), str(workers)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "two\n"
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert (process.returncode, rest) == (0, "['MainThread']\n")
