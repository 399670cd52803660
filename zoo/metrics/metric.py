"""The base of all metrics."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from mmengine.evaluator import BaseMetric
from numpy.typing import NDArray

from zoo.errors import InputError


class Metric(BaseMetric):  # type: ignore[misc]  # mmengine is untyped
    """Compares results with the ground truth, image by image, and sums up: mmengine's BaseMetric, one entry an image.

    Exactly one entry for each image is what makes several processes give the figures of one: mmengine puts the entries
    of all of them back into the order of the data set, and drops those that filled up the last batches.

    `evaluate(size)` gives every figure under "<prefix>/<name>", NaN where there is nothing to judge. Afterwards
    `per_image` has the entries (in the first process alone), for `resampled`.
    """

    main: ClassVar[str]
    """The name of the figure that gates look at, for example "box_AP"."""
    truth: ClassVar[tuple[str, ...]]
    """The keys that an item must have for this metric."""
    unit: ClassVar[str] = "points"
    """Of the main figure: "points", 0..100, or "dB". All other figures are in points."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.per_image: list[Any] = []

    @property
    def main_key(self) -> str:
        """The main figure's key in what `evaluate` gives, for example "coco/box_AP"."""
        return f"{self.prefix}/{self.main}"

    def process(self, data_batch: Sequence[Mapping[str, Any]], data_samples: Sequence[Any]) -> None:
        """Takes one batch: items of a data set, and the results for them in the same order.

        Results have their fields as attributes (see zoo.tasks) or as keys. Raises InputError where the fields are not
        those that this metric judges.
        """
        for item, result in zip(data_batch, data_samples, strict=True):
            self.results.append(self.entry(item, result))

    def compute_metrics(self, results: list[Any]) -> dict[str, float]:
        """The figures of the entries of all processes, which `per_image` keeps."""
        self.per_image = list(results)
        return self.figures(self.per_image)

    @abstractmethod
    def entry(self, item: Mapping[str, Any], result: Any) -> Any:
        """What the figures need of one image: small, and fit to be pickled. Never None, which mmengine drops."""

    @abstractmethod
    def figures(self, entries: Sequence[Any]) -> dict[str, float]:
        """All figures of some entries, by name; an entry that is there twice counts as two images."""

    @abstractmethod
    def resampled(self, per_image: Sequence[Any], counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """The main figure float64 [R] of R draws of n entries; entry i counts `counts[r, i]` times, int64 [R, n].

        The same as `figures` of each draw's entries, written out one copy after the other, but fast enough for a
        bootstrap of a thousand draws. NaN for a draw with nothing to judge.
        """

    def field(self, record: Any, name: str) -> Any:
        """One field of an item or of a result. Raises InputError where there is none of that name."""
        try:
            return record[name] if isinstance(record, Mapping) else getattr(record, name)
        except (KeyError, AttributeError) as error:
            got = ", ".join(f'"{key}"' for key in sorted(record)) if isinstance(record, Mapping) else None
            raise InputError(
                f'{type(self).__name__} needs "{name}", got {got or f"a {type(record).__name__}"}; give the config the '
                "evaluator of its task, and a data set with that ground truth"
            ) from error
