"""Slide inference on the host: windows cut, run in batches, blended and joined, a strip of the image at a time.

What is in memory beside the image and its label map: one strip of logits, as high as a window and as wide as the image,
and one batch of windows.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from backends.runner import Array, Runner
from zoo.input_specs import IMAGES
from zoo.preprocess import CHANNELS
from zoo.progress import Progress
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec
from zoo.windows import Windows

LOGITS = "logits"  # what the window's model gives
WINDOWS = "windows"  # what progress counts
ROWS_AT_ONCE = 32  # whose best classes are found at once: numpy's argmax copies what it looks at


class Source(Protocol):
    """A tensor [3, H, W] that is read piece by piece."""

    def write(self, top: int, left: int, out: NDArray[np.float32]) -> None:
        """Write the tensor from (top, left) on into `out` float32 [3, h, w]."""


class SlideRunner(Runner):
    """The whole image through a runner of windows: images [N, 3, H, W] -> logits [N, C, H, W], or label_map [N, H, W].

    `window_runner` takes `images` float32 [n, 3, *windows.crop_size], n up to `windows.batch`, and gives `logits` of
    that size. `outputs`: the one output. Equal to EncoderDecoder.slide_inference. Images run one after another.
    """

    def __init__(
        self,
        window_runner: Runner,
        windows: Windows,
        inputs: Iterable[TensorSpec],
        outputs: Iterable[TensorSpec],
        axes: Mapping[str, AxisRange] | None = None,
        *,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(inputs, outputs, axes)
        self.window_runner = window_runner
        self.windows = windows
        self._progress = progress
        self._lock = threading.Lock()
        self._under_way = 0

    def run_source(self, source: Source, size: tuple[int, int]) -> dict[str, Array]:
        """The outputs by name for the one image of `size` (H, W) that `source` holds. Raises as `run` does."""
        self._refuse_closed()
        count = self.inputs[0].shape[0]
        fewest = count if isinstance(count, int) else self.axes[count].min if count in self.axes else 1
        self.check_shape(IMAGES.name, (fewest, CHANNELS, *size))
        with self._running():
            return {self.outputs[0].name: self._joined(source, size)[np.newaxis]}

    def _run(self, arrays: Mapping[str, Array]) -> Sequence[Array]:
        images = arrays[IMAGES.name]
        with self._running():
            return [np.stack([self._joined(_Tensor(image), image.shape[1:]) for image in images])]

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Several runs of the windows' model, which a close in between must not take away."""
        with self._lock:
            self._under_way += 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way -= 1
            if self._closed:
                self._release()

    def _release(self) -> None:
        with self._lock:
            if not self._under_way:
                self.window_runner.close()

    def _joined(self, source: Source, size: tuple[int, int]) -> Array:
        """The output of one image, without its batch axis."""
        spec = self.outputs[0]
        joined: Array | None = None
        for top, logits in self._strips(source, size):
            if joined is None:
                joined = np.empty((len(logits), *size) if spec.name == LOGITS else size, spec.dtype)
            if spec.name == LOGITS:
                joined[:, top : top + logits.shape[1]] = logits
                continue
            for row in range(0, logits.shape[1], ROWS_AT_ONCE):
                labels = logits[:, row : row + ROWS_AT_ONCE].argmax(axis=0)
                joined[top + row : top + row + len(labels)] = labels
        assert joined is not None  # there is always one window
        return joined

    def _strips(self, source: Source, size: tuple[int, int]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """From top to bottom: (top, mean logits [C, rows, W]), each a view that holds until the next is asked for."""
        tops, lefts = self.windows.starts(size)
        row_weights, column_weights = self.windows.weights()
        weights = None if self.windows.blend == "constant" else row_weights[:, np.newaxis] * column_weights
        height, width = self.windows.crop_size
        across = np.zeros(size[1], np.float32)
        for left in lefts:
            across[left : left + width] += column_weights
        down = np.zeros(height, np.float32)
        total = len(tops) * len(lefts)
        if self._progress is not None:
            self._progress(WINDOWS, 0, total)
        strip: NDArray[np.float32] | None = None
        for number, (top, below) in enumerate(pairwise([*tops, size[0]])):
            for first, logits in self._row(source, top, lefts, number * len(lefts), total):
                if strip is None:
                    strip = np.zeros((logits.shape[1], height, size[1]), np.float32)
                if weights is not None:
                    logits *= weights  # noqa: PLW2901 - a new array, and ours
                for left, window in zip(lefts[first:], logits, strict=False):
                    strip[:, :, left : left + width] += window
                del logits, window  # before the next batch comes
            assert strip is not None  # a row has one window at least
            down += row_weights
            done = below - top
            np.divide(strip[:, :done], down[:done, np.newaxis] * across, out=strip[:, :done])
            yield top, strip[:, :done]
            for plane in (*strip, down):
                _shift(plane, done)

    def _row(
        self, source: Source, top: int, lefts: list[int], done: int, total: int
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """(number of the first window, logits [n, C, h, w]), batch by batch. `done` and `total` windows: progress."""
        for first in range(0, len(lefts), self.windows.batch):
            chosen = lefts[first : first + self.windows.batch]
            crops = np.empty((len(chosen), CHANNELS, *self.windows.crop_size), np.float32)
            for left, crop in zip(chosen, crops, strict=True):
                source.write(top, left, crop)
            yield first, self.window_runner.run({IMAGES.name: crops})[LOGITS]
            if self._progress is not None:
                self._progress(WINDOWS, done + first + len(chosen), total)


class _Tensor:
    """A source that is a tensor [3, H, W] already."""

    def __init__(self, image: Array) -> None:
        self._image = image

    def write(self, top: int, left: int, out: NDArray[np.float32]) -> None:
        out[...] = self._image[:, top : top + out.shape[1], left : left + out.shape[2]]


def _shift(rows: NDArray[Any], count: int) -> None:
    """The rows move up by `count`; zeros come in from below."""
    rest = len(rows) - count
    rows[:rest] = rows[count:].copy()
    rows[rest:] = 0
