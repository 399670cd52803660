"""`zooport predict` in this process, on small deployments that were made without PyTorch."""

import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.backends.conftest import Recipe, write_deployment, write_slide
from tests.tools.conftest import in_this_process
from tests.tools.tiny import Run
from zooport.prediction_session import PredictionSession

Predict = Callable[..., Run]


@pytest.fixture(scope="session")
def detector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Finds more boxes the brighter an image is; none in a black one."""
    return write_deployment(tmp_path_factory.mktemp("detector"), Recipe(batch=1))


@pytest.fixture(scope="session")
def segmentor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pixel's class is its strongest channel."""
    return write_deployment(tmp_path_factory.mktemp("segmentor"), Recipe(task="SemanticSegmentation", batch=1))


@pytest.fixture(scope="session")
def slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """See write_slide."""
    return write_slide(tmp_path_factory.mktemp("slide"))


@pytest.fixture
def predict(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Predict:
    """predict(deployment, argument, ..., stdin=b"...")"""
    for name in ("OPENCV_LOG_LEVEL", "OPENCV_FFMPEG_LOGLEVEL"):
        monkeypatch.setenv(name, "OFF" if "LOG_LEVEL" in name else "-8")
    run = in_this_process("predict", capsys)

    def call(*arguments: object, stdin: bytes = b"") -> Run:
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(stdin)))
        return run([str(argument) for argument in arguments])

    return call


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Six images from black to bright: 0, 0, 1, 2, 3, 4 boxes; in the folder of a name with a space."""
    folder = tmp_path / "my photos"
    folder.mkdir()
    for number in range(6):
        cv2.imwrite(str(folder / f"{number}.png"), np.full((64, 96, 3), 40 * number, np.uint8))
    return folder


@pytest.fixture
def stop_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, BaseException], None]:
    """stop_after(n, error): after n predictions of every later session something happens."""
    before = PredictionSession.predictions

    def arrange(number: int, error: BaseException) -> None:
        def stopped(session: PredictionSession):  # type: ignore[no-untyped-def]
            for place, prediction in enumerate(before(session), 1):
                yield prediction
                if place == number:
                    raise error

        monkeypatch.setattr(PredictionSession, "predictions", stopped)

    return arrange
