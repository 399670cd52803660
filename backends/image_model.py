"""A model that takes images and gives results, whatever runs it."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeGuard, overload

import numpy as np
from numpy.typing import NDArray

from backends.runner import Runner
from zoo.errors import InputError, nearest
from zoo.input_specs import IMAGE_SIZES, IMAGES
from zoo.preprocess import CHANNELS, Geometry, Preprocess, check_image
from zoo.target import AxisRange
from zoo.tasks import Result, Task

STACK_DIMS = 4

Image = NDArray[np.uint8]


class ImageModel:
    """Images in, results out: the preprocessing, the batches, a runner, and the task's results. A context manager.

    `name` is for messages, `task` draws results, `rule` is the preprocessing, `runner` takes and gives the tensors
    themselves, whose output level is `level`. Threads may share it: no buffer is kept between calls.
    """

    def __init__(self, name: str, task: Task, rule: Preprocess, runner: Runner, level: str = "final") -> None:
        self.name = name
        self.task = task
        self.rule = rule
        self.runner = runner
        self.level = level
        specs = {spec.name: spec for spec in runner.inputs}
        if IMAGES.name not in specs:
            raise InputError(
                f'{name}: no input "{IMAGES.name}" among {", ".join(specs)}; use .runner.run with your own tensors'
            )
        self._has_sizes = IMAGE_SIZES.name in specs
        batch = specs[IMAGES.name].shape[0]
        self._batch = runner.axes[batch] if isinstance(batch, str) else AxisRange.fixed(batch)

    @overload
    def __call__(self, images: Image, **inputs: float) -> Result: ...  # type: ignore[overload-overlap]  # an array is iterable, too

    @overload
    def __call__(self, images: Iterable[Image], **inputs: float) -> list[Result]: ...

    def __call__(self, images: Image | Iterable[Image], **inputs: float) -> Result | list[Result]:
        """The result for one image, uint8 [h, w, 3] BGR, or a list of results, in order, for an iterable of them.

        Images run in batches of the graph's range: as large as it allows, and a batch below its minimum is filled up
        with its last image, whose extra results are dropped. Where the graph takes image_sizes, only images that end at
        the same place of their tensors share a batch: a detector would make it as large as its largest image, and the
        others' results would change. An iterable is read one batch at a time; [] gives []. A 4-D array is a stack of
        images. `inputs`: numbers for inputs of the graph that have defaults, such as score_threshold. Raises InputError
        for an image that is not one (see zoo.preprocess), naming its place, for an unknown input, and where the output
        level is not "final".
        """
        if self.level != "final":
            sizes = ', "image_sizes": numpy.array([place.resized_size for place in geometries])' * self._has_sizes
            raise InputError(
                f'{self.name}: output level "{self.level}" has no results; use array, geometries = '
                f'.preprocess(images) and .runner.run({{"images": array{sizes}}}), or deploy with --output-level final'
            )
        if _is_single(images):
            check_image(images)
            return self._run_batch([images], self._settings(inputs))[0]
        settings = self._settings(inputs)
        results: list[Result] = []
        for chunk in self._chunks(images):
            results += self._run_batch(chunk, settings)
        return results

    def preprocess(self, images: Sequence[Image]) -> tuple[NDArray[np.float32], list[Geometry]]:
        """The tensor float32 [n, 3, H, W] for n images, and where each image lies in it. A new array.

        Raises InputError for no image, for an image that is not one, and where tensors would differ in size.
        """
        if len(images) == 0:
            raise InputError("no images; give one or more")
        for index, image in enumerate(images):
            check_image(image, f"image {index}")
        sizes = {self._tensor_size(image) for image in images}
        if len(sizes) > 1:
            raise InputError(f"the images' tensors have different sizes {sorted(sizes)}; give images of one size")
        return self._tensor(images, len(images))

    def close(self) -> None:
        """Give the memory back. A call after it is an InputError."""
        self.runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _chunks(self, images: Iterable[Image]) -> Iterator[list[Image]]:
        """Runs of images that fit one batch: no more than its maximum, and all placed alike in tensors of one size."""
        chunk: list[Image] = []
        chunk_sizes: tuple[tuple[int, int], ...] = ()
        for index, image in enumerate(images):
            check_image(image, f"image {index}")
            geometry = self.rule.geometry(*image.shape[:2])
            sizes = (geometry.tensor_size, geometry.resized_size) if self._has_sizes else (geometry.tensor_size,)
            if chunk and (sizes != chunk_sizes or len(chunk) == self._chunk_size):
                yield chunk
                chunk = []
            chunk.append(image)
            chunk_sizes = sizes
        if chunk:
            yield chunk

    @property
    def _chunk_size(self) -> int:
        """How many images are held at once."""
        return self._batch.max

    def _settings(self, inputs: Mapping[str, float]) -> dict[str, NDArray[Any]]:
        """Numbers for inputs with defaults, as the graph takes them."""
        defaults = self.runner.defaults
        settings: dict[str, NDArray[Any]] = {}
        for name, value in inputs.items():
            if name not in defaults:
                known = nearest(name, defaults) if defaults else "it has none that may be set"
                raise InputError(f'{self.name}: unknown input "{name}"; {known}')
            settings[name] = self._setting(name, value, defaults[name].dtype)
        return settings

    def _setting(self, name: str, value: float, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The number as an array [1] of the input's dtype. Raises InputError for none, and where it does not fit."""
        kinds = (int, float, np.integer, np.floating)
        try:
            if isinstance(value, bool) or not isinstance(value, kinds) or not math.isfinite(value):
                raise InputError(f'{self.name}: input "{name}" is {value!r}, expected a number')
            if dtype.kind == "i" and (value != int(value) or value < 1):
                raise InputError(f'{self.name}: input "{name}" is {value!r}, expected a whole number, 1 or more')
            with np.errstate(over="raise"):
                return np.array([value]).astype(dtype) if dtype.kind == "f" else np.array([int(value)], dtype)
        except (OverflowError, FloatingPointError) as error:
            raise InputError(f'{self.name}: input "{name}" is too large for {dtype}; give a smaller number') from error

    def _run_batch(self, images: Sequence[Image], settings: Mapping[str, NDArray[Any]]) -> list[Result]:
        """The results of images that are placed alike, see _chunks; `settings`: see _settings."""
        count = max(len(images), self._batch.min)
        self.runner.check_shape(IMAGES.name, (count, CHANNELS, *self._tensor_size(images[0])))  # before it is made
        tensor, geometries = self._tensor(images, count)
        arrays: dict[str, NDArray[Any]] = {IMAGES.name: tensor, **settings}
        if self._has_sizes:
            arrays[IMAGE_SIZES.name] = np.array([geometries[0].resized_size] * len(tensor), np.int64)
        return self.task.results(self.runner.run_float32(arrays), geometries)

    def _tensor(self, images: Sequence[Image], count: int) -> tuple[NDArray[np.float32], list[Geometry]]:
        """The batch of `count` slots, those past the last image filled with the last image."""
        shape = (count, CHANNELS, *self._tensor_size(images[0]))
        try:
            tensor = np.empty(shape, np.float32)
        except MemoryError as error:
            raise InputError(
                f"{self.name}: the tensor float32 {list(shape)} takes {4 * math.prod(shape)} bytes, and there is no "
                "memory for it; give smaller images, or fewer at once"
            ) from error
        run = self.rule.run
        geometries = [run(image, slot) for image, slot in zip(images, tensor, strict=False)]
        tensor[len(images) :] = tensor[len(images) - 1]
        return tensor, geometries

    def _tensor_size(self, image: Image) -> tuple[int, int]:
        return self.rule.geometry(image.shape[0], image.shape[1]).tensor_size


def _is_single(images: object) -> TypeGuard[Image]:
    """Whether this is one image, or nothing that could be several (which check_image then explains)."""
    if isinstance(images, np.ndarray):
        return images.ndim != STACK_DIMS
    return isinstance(images, str | bytes | os.PathLike) or not isinstance(images, Iterable)
