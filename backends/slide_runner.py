"""Slide inference on the host: windows cut, run in batches, blended and joined, a strip of the image at a time.

What is in memory beside the image and its label map: one strip of logits, as high as a window and as wide as the image,
and one batch of windows. Logits are joined in the output itself. Several threads join them, each a class at a time.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from backends.runner import Array, HostRunner, Runner
from backends.threads import default_threads
from zoo.input_specs import IMAGES
from zoo.preprocess import CHANNELS
from zoo.progress import Progress
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec
from zoo.windows import Windows

LOGITS = "logits"  # what the window's model gives
WINDOWS = "windows"  # what progress counts
ROWS_AT_ONCE = 32  # whose best classes are found at once: few enough for a processor's cache
Each = Callable[[Callable[[int], None], Iterable[int]], None]
"""Calls a function with each number, and waits for the last call."""


class Source(Protocol):
    """A tensor [3, H, W] that is read piece by piece."""

    def write(self, top: int, left: int, out: NDArray[np.float32]) -> None:
        """Write the tensor from (top, left) on into `out` float32 [3, h, w]."""


class SlideRunner(HostRunner):
    """The whole image through a runner of windows: images [N, 3, H, W] -> logits [N, C, H, W], or label_map [N, H, W].

    `window_runner` takes `images` float32 [n, 3, *windows.crop_size], n up to `windows.batch`, and gives `logits` of
    that size. `outputs`: the one output. Equal to EncoderDecoder.slide_inference. Images run one after another.
    `threads`: those that join the windows, None for the CPUs that this process may use.
    """

    def __init__(
        self,
        window_runner: Runner,
        windows: Windows,
        inputs: Iterable[TensorSpec],
        outputs: Iterable[TensorSpec],
        axes: Mapping[str, AxisRange] | None = None,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(window_runner, inputs, outputs, axes)
        self.windows = windows
        self._threads = default_threads() if threads is None else threads
        self._progress = progress

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

    def _joined(self, source: Source, size: tuple[int, int]) -> Array:
        """The output of one image, without its batch axis."""
        with _side_by_side(self._threads) as each:
            if self.outputs[0].name == LOGITS:
                return self._logits(source, size, each)
            return self._label_map(source, size, each)

    def _logits(self, source: Source, size: tuple[int, int], each: Each) -> Array:
        """The mean of the windows' logits [C, H, W]."""
        height, width = self.windows.crop_size
        row_weights, column_weights = self.windows.weights()
        tops, all_lefts = self.windows.starts(size)
        covered_rows = _covered(size[0], tops, row_weights)[:, np.newaxis]
        covered_columns = _covered(size[1], all_lefts, column_weights)
        joined: Array | None = None
        begun = 0  # rows of these windows that earlier ones cover, too
        for number, (top, below) in enumerate(pairwise([*tops, size[0]])):
            right = 0
            for lefts, logits in self._row(source, size, number):
                if joined is None:
                    joined = np.empty((logits.shape[1], *size), self.outputs[0].dtype)
                each(partial(_add, joined[:, top : top + height], begun, right, lefts, logits), range(len(joined)))
                right = lefts[-1] + width
                del logits  # before the next batch comes
            assert joined is not None  # a row has one window at least
            covered = covered_rows[top:below] * covered_columns
            each(partial(_divide, joined[:, top:below], covered), range(len(joined)))
            begun = top + height - below
        assert joined is not None  # there is always one row
        return joined

    def _label_map(self, source: Source, size: tuple[int, int], each: Each) -> Array:
        """The best class of each pixel [H, W]. Sums of the windows' logits have it as well as their means."""
        height, width = self.windows.crop_size
        tops, _ = self.windows.starts(size)
        label_map = np.empty(size, self.outputs[0].dtype)
        strip: NDArray[np.float32] | None = None
        begun = 0  # rows of the strip that earlier windows cover, too
        for number, (top, below) in enumerate(pairwise([*tops, size[0]])):
            right = 0
            for lefts, logits in self._row(source, size, number):
                if strip is None:
                    strip = np.empty((logits.shape[1], height, size[1]), np.float32)
                each(partial(_add, strip, begun, right, lefts, logits), range(len(strip)))
                right = lefts[-1] + width
                del logits  # before the next batch comes
            assert strip is not None  # a row has one window at least
            done = below - top
            each(partial(_best_rows, strip, label_map[top:below]), range(0, done, ROWS_AT_ONCE))
            begun = height - done
            each(partial(_move_up, strip, done), range(len(strip)))
        return label_map

    def _row(
        self, source: Source, size: tuple[int, int], number: int
    ) -> Iterator[tuple[Sequence[int], NDArray[np.float32]]]:
        """The batches of the row `number`: where windows begin, and their logits [n, C, h, w], weighted as blended."""
        tops, lefts = self.windows.starts(size)
        done, total = number * len(lefts), len(tops) * len(lefts)
        row_weights, column_weights = self.windows.weights()
        weights = None if self.windows.blend == "constant" else row_weights[:, np.newaxis] * column_weights
        if self._progress is not None and not number:
            self._progress(WINDOWS, 0, total)
        for first in range(0, len(lefts), self.windows.batch):
            chosen = lefts[first : first + self.windows.batch]
            crops = np.empty((len(chosen), CHANNELS, *self.windows.crop_size), np.float32)
            for left, crop in zip(chosen, crops, strict=True):
                source.write(tops[number], left, crop)
            logits = self._inner.run({IMAGES.name: crops})[LOGITS]
            if weights is not None:
                logits *= weights  # a new array, and ours
            yield chosen, logits[: len(chosen)]
            del logits  # before the next batch comes
            if self._progress is not None:
                self._progress(WINDOWS, done + first + len(chosen), total)


class _Tensor:
    """A source that is a tensor [3, H, W] already."""

    def __init__(self, image: Array) -> None:
        self._image = image

    def write(self, top: int, left: int, out: NDArray[np.float32]) -> None:
        out[...] = self._image[:, top : top + out.shape[1], left : left + out.shape[2]]


@contextmanager
def _side_by_side(threads: int) -> Iterator[Each]:
    """What calls a function in so many threads."""
    if threads == 1:
        yield _in_turn
        return
    from concurrent.futures import ThreadPoolExecutor  # a deployment of whole images loads without it

    with ThreadPoolExecutor(threads) as pool:

        def each(call: Callable[[int], None], numbers: Iterable[int]) -> None:
            list(pool.map(call, numbers))  # raises what a call raises

        yield each


def _in_turn(call: Callable[[int], None], numbers: Iterable[int]) -> None:
    for number in numbers:
        call(number)


def _divide(planes: Array, covered: NDArray[np.float32], label: int) -> None:
    planes[label] /= covered


def _add(strip: Array, begun: int, right: int, lefts: Sequence[int], logits: NDArray[np.float32], label: int) -> None:
    """One class of windows [n, C, h, w] to the strip [C, h, W], where the first `begun` rows, and the columns up to
    `right`, have sums. The rest is written without being read: memory that is new costs twice as much otherwise.
    """
    plane = strip[label]
    for left, window in zip(lefts, logits[:, label], strict=True):
        new, end = max(right - left, 0), left + window.shape[1]
        plane[:begun, left:end] += window[:begun]
        plane[begun:, left : left + new] += window[begun:, :new]
        plane[begun:, left + new : end] = window[begun:, new:]
        right = end


def _best_rows(strip: NDArray[np.float32], out: Array, row: int) -> None:
    rows = slice(row, min(row + ROWS_AT_ONCE, len(out)))
    _best_classes(strip[:, rows], out[rows])


def _move_up(strip: NDArray[np.float32], done: int, label: int) -> None:
    """The rows behind the first `done` become the first."""
    plane = strip[label]
    plane[: len(plane) - done] = plane[done:].copy()


def _covered(size: int, starts: Sequence[int], weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """By how much the windows cover each of `size` rows or columns."""
    covered = np.zeros(size, np.float32)
    for start in starts:
        covered[start : start + len(weights)] += weights
    return covered


def _best_classes(scores: NDArray[np.float32], out: Array) -> None:
    """The class of the largest score [C, h, w] into `out` [h, w], the first of equal ones.

    numpy's argmax takes six times as long: it copies, because the classes are not side by side.
    """
    out[...] = 0
    best = scores[0].copy()
    for label, score in enumerate(scores[1:], start=1):
        higher = (score > best).astype(out.dtype)
        np.maximum(best, score, out=best)
        higher *= out.dtype.type(label)
        np.maximum(out, higher, out=out)  # labels rise: the last one that was higher is the best
