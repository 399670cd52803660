"""One call of a model: from images, or whatever its task takes, to results, in batches that the graph takes."""

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard, overload

import numpy as np
from numpy.typing import NDArray

from backends.graph_settings import graph_settings
from backends.runner import Runner
from zoo.errors import InputError
from zoo.target import AxisRange
from zoo.tasks import Result, Task

Array = NDArray[Any]


class Stages(NamedTuple):
    """Seconds of the stages of a call. Windows that the host cuts and joins belong to computing."""

    preprocessing: float
    computing: float
    postprocessing: float


class Calls:
    """Images in, results out: the preprocessing, the batches, a runner, and the task's results.

    For a task of another input kind, the inputs are arrays of that kind instead of images. `name` is for messages.
    `task` draws results. `rule` is the preprocessing, as the kind made it. `runner` takes and gives the tensors
    themselves, at output level `level`. Threads may make calls at the same time: no buffer is kept between them.
    """

    def __init__(self, name: str, task: Task, rule: Any, runner: Runner, level: str = "final") -> None:
        self.name = name
        self.task = task
        self.rule = rule
        self.runner = runner
        self.level = level
        self._kind = task.kind
        self._spec = self._kind.inputs[0]
        specs = {spec.name: spec for spec in runner.inputs}
        if self._spec.name not in specs:
            raise InputError(
                f'{name}: no input "{self._spec.name}" among {", ".join(specs)}; use .runner.run with your own tensors'
            )
        self._names = tuple(specs)
        batch = specs[self._spec.name].shape[0]
        self._batch = runner.axes[batch] if isinstance(batch, str) else AxisRange.fixed(batch)

    @overload
    def __call__(self, images: Array, **inputs: float) -> Result: ...  # type: ignore[overload-overlap]  # an array is iterable, too

    @overload
    def __call__(self, images: Iterable[Array], **inputs: float) -> list[Result]: ...

    def __call__(self, images: Array | Iterable[Array], **inputs: float) -> Result | list[Result]:
        """The result for one image, uint8 [h, w, 3] BGR, or a list of results, in order, for an iterable of them.

        Images run in the largest batches that the graph allows. A batch below the minimum is filled up with its last
        image, and the extra results are dropped. If the graph takes image_sizes, only images of the same size in their
        tensors share a batch: a detector would enlarge the batch to its largest image, which would change the results
        of the others. An iterable is read one batch at a time; [] gives []. A 4-D array is a stack of images.
        A generator must give a new array for each image: those of a batch are computed together.
        `inputs`: numbers for inputs of the graph that have defaults, such as score_threshold. Raises InputError for an
        array that is not an image (see zoo.preprocess), naming its index, for an unknown input, and if the output level
        is not "final".
        """
        self._refuse_level()
        if self._is_single(images):
            self._kind.check_for(self.rule, images, self._kind.noun)
            return self._run_batch([images], self._settings(inputs))[0]
        settings = self._settings(inputs)
        results: list[Result] = []
        for chunk in self._chunks(images):
            results += self._run_batch(chunk, settings)
        return results

    def time_stages(self, images: Iterable[Array], clock: Callable[[], float] = time.perf_counter) -> Stages:
        """Make a call with a list of images, and measure its stages, whose sum is the time of the call.

        Raises as a call does.
        """
        self._refuse_level()
        marks = [clock()]
        for chunk in self._chunks(images):
            self._run_batch(chunk, {}, lambda: marks.append(clock()))
        return Stages(*np.diff(marks).reshape(-1, len(Stages._fields)).sum(axis=0).tolist())

    def preprocess(self, images: Sequence[Array]) -> tuple[NDArray[np.float32], list[Any]]:
        """The tensor float32 [n, 3, H, W] of n images, a new array, and the place of each image in it.

        Raises InputError for an empty list, for an array that is not an image, and if the tensors differ in size.
        """
        noun = self._kind.noun
        if len(images) == 0:
            raise InputError(f"no {noun}s; give one or more")
        for index, image in enumerate(images):
            self._kind.check_for(self.rule, image, f"{noun} {index}")
        unlike = {self._kind.alike(self.rule, image, [self._spec.name]) for image in images}
        if len(unlike) > 1:
            sizes = sorted(size for (size,) in unlike)
            raise InputError(f"the {noun}s' tensors have different sizes {sizes}; give {noun}s of one size")
        return self._tensor(images, len(images))

    def _refuse_level(self) -> None:
        if self.level != "final":
            raise InputError(
                f'{self.name}: output level "{self.level}" has no results; use array, geometries = '
                f".preprocess({self._kind.noun}s) and .runner.run({self._kind.feed_example(self._names)}), or deploy "
                "with --output-level final"
            )

    def _chunks(self, images: Iterable[Array]) -> Iterator[list[Array]]:
        """Runs of images that fit one batch: no more than its maximum, and alike (see InputKind.alike)."""
        chunk: list[Array] = []
        in_common: tuple[Any, ...] = ()
        for index, image in enumerate(images):
            self._kind.check_for(self.rule, image, f"{self._kind.noun} {index}")
            alike = self._kind.alike(self.rule, image, self._names)
            if chunk and (alike != in_common or len(chunk) == self._chunk_size):
                yield chunk
                chunk = []
            chunk.append(image)
            in_common = alike
        if chunk:
            yield chunk

    @property
    def _chunk_size(self) -> int:
        """How many images are held at once."""
        return self._batch.max

    def _settings(self, inputs: Mapping[str, float]) -> dict[str, NDArray[Any]]:
        """Numbers for inputs with defaults, as the graph takes them."""
        return graph_settings(self.name, self.runner.defaults, inputs)

    def _run_batch(
        self, images: Sequence[Array], settings: Mapping[str, Array], mark: Callable[[], object] = lambda: None
    ) -> list[Result]:
        """The results of images that are alike, see _chunks. `settings`: see graph_settings.

        `mark`: called at the end of each of `Stages`.
        """
        arrays, geometries = self._feeds(images, settings)
        mark()
        outputs = self.runner.run_float32(arrays)
        mark()
        results = self.task.results(outputs, geometries)
        mark()
        return results

    def feeds(self, image: Array, **inputs: float) -> tuple[dict[str, Array], Any]:
        """What the graph is given for one image, and the place of the image in the tensor, for `task.results`.

        Inputs with defaults that are left out have them. Raises InputError as a call does.
        """
        self._kind.check_for(self.rule, image, self._kind.noun)
        arrays, (geometry,) = self._feeds([image], self._settings(inputs))
        return {**self.runner.defaults, **arrays}, geometry

    def _feeds(self, images: Sequence[Array], settings: Mapping[str, Array]) -> tuple[dict[str, Array], list[Any]]:
        """The inputs of the graph for images that are alike, and the place of each image in its slot."""
        count = max(len(images), self._batch.min)
        shape = (count, *self._kind.slot_shape(self.rule, images))
        self.runner.check_shape(self._spec.name, shape)  # before it is made
        tensor, geometries = self._tensor(images, count)
        arrays: dict[str, NDArray[Any]] = {self._spec.name: tensor, **settings}
        slots = [*geometries, *geometries[-1:] * (count - len(images))]
        companions = self._kind.companions(slots)
        arrays |= {name: array for name, array in companions.items() if name in self._names}
        return arrays, geometries

    def _tensor(self, images: Sequence[Array], count: int) -> tuple[NDArray[np.float32], list[Any]]:
        """The batch of `count` slots, those past the last image filled with the last image."""
        shape = (count, *self._kind.slot_shape(self.rule, images))
        try:
            tensor = np.empty(shape, np.float32)
        except MemoryError as error:
            raise InputError(
                f"{self.name}: the tensor float32 {list(shape)} takes {4 * math.prod(shape)} bytes, and there is no "
                f"memory for it; give smaller {self._kind.noun}s, or fewer at once"
            ) from error
        fill = self._kind.fill
        geometries = [fill(self.rule, image, slot) for image, slot in zip(images, tensor, strict=False)]
        tensor[len(images) :] = tensor[len(images) - 1]
        return tensor, geometries

    def _is_single(self, images: object) -> TypeGuard[Array]:
        """Whether this is one input, or nothing that could be several (which the kind's check then explains)."""
        if isinstance(images, np.ndarray):
            return images.ndim != len(self._spec.shape)
        return isinstance(images, str | bytes | os.PathLike) or not isinstance(images, Iterable)
