"""What an evaluation found, as data."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from zoo.input_kinds import InputKind

REFERENCE, PASSED, MISSED, NOT_JUDGED = "reference", "passed", "missed", "not judged"
DECIMALS = 4


@dataclass(frozen=True)
class Row:
    """One model on the data set: the unpatched model (the reference), or a deployment.

    ``figures`` in points 0..100 or dB, by the metric's names; NaN where there was nothing to judge. ``seconds``: of
    each image, from its pixels in memory to its result. ``difference``: of the main figure, to the reference's;
    ``interval``: where 95 % of the differences would lie for other images of this kind (paired bootstrap). Both are
    None for a reference.
    """

    name: str
    backend: str
    precision: str
    deployment: str | None
    figures: Mapping[str, float]
    seconds: tuple[float, ...]
    images_resumed: int = 0
    difference: float | None = None
    interval: tuple[float, float] | None = None
    gate: float | None = None
    verdict: str = REFERENCE

    @property
    def latency_ms(self) -> dict[str, float]:
        """Milliseconds an image: the median and the 90th percentile."""
        p50, p90 = np.percentile(np.asarray(self.seconds) * 1000, (50, 90))
        return {"p50": float(p50), "p90": float(p90)}

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; NaN is null."""
        return {
            "name": self.name,
            "backend": self.backend,
            "precision": self.precision,
            "deployment": self.deployment,
            "figures": {name: _plain(value) for name, value in self.figures.items()},
            "difference": _plain(self.difference),
            "interval": None if self.interval is None else [_plain(end) for end in self.interval],
            "gate": self.gate,
            "verdict": self.verdict,
            "latency_ms": {name: _plain(value) for name, value in self.latency_ms.items()},
            "images_resumed": self.images_resumed,
        }


@dataclass(frozen=True)
class Evaluation:
    """All rows, each reference before the deployments that are compared with it.

    ``metric``: the name of the main figure, None where the config has no evaluator; ``unit``: "points" or "dB".
    ``kind``: that of the ``images``.
    """

    config: str
    dataset: str
    kind: InputKind
    images: int
    metric: str | None
    unit: str | None
    rows: tuple[Row, ...]

    @property
    def missed(self) -> list[Row]:
        """The rows whose difference is above the gate."""
        return [row for row in self.rows if row.verdict == MISSED]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "config": self.config,
            "dataset": {"type": self.dataset, "images": self.images},
            "metric": self.metric,
            "unit": self.unit,
            "rows": [row.to_dict() for row in self.rows],
        }


def _plain(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(float(value), DECIMALS)
