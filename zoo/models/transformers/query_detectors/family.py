"""The family of the detectors of transformers."""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from zoo.families import Contracts, Family, register
from zoo.models.transformers.query_detectors.levels import QueryDecoded, QueryFinal, QueryRaw
from zoo.models.transformers.query_detectors.selection import Result, other_selections
from zoo.models.transformers.query_detectors.transformers_detector import TransformersDetector


@register(TransformersDetector)
class QueryDetectorFamily(Family):
    """Queries, each with a score for every class: no threshold and no NMS, but a number of detections."""

    name: ClassVar[str] = "TransformersDetector"
    contracts: ClassVar[Contracts] = {
        ("detection", "final"): QueryFinal,
        ("detection", "decoded"): QueryDecoded,
        ("detection", "raw"): QueryRaw,
    }
    rewriters: ClassVar[str | None] = "rewriters.transformers"

    def other_choices(
        self, model: Any, run: Callable[[], Result], tolerance: float
    ) -> Iterator[tuple[int, str, Result]]:
        """Other selections of queries, where the encoder's scores tie."""
        return other_selections(model.model, run, tolerance)
