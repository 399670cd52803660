"""What a config gives to a class of the user's own, whatever its annotations are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from zoo.arguments import building, path_arguments, wrong_arguments
from zoo.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Metric:
    """Its annotations are texts, and one of them names what Python does not import."""

    def __init__(self, weights: NDArray[Any], root: Path, ratio: float | None = None, count: int | None = None) -> None:
        raise NotImplementedError


def faults(**options: object) -> list[str]:
    return list(wrong_arguments(Metric, {"weights": [1.0], "root": Path(), **options}))


def test_what_is_imported_for_type_checkers_alone_takes_anything() -> None:
    assert faults() == []
    assert path_arguments(Metric) == ["root"]


def test_a_union_takes_what_one_of_its_types_takes() -> None:
    assert faults(ratio=1, count=2) == faults(ratio=None, count=None) == []
    assert faults(ratio="1") == ["argument \"ratio\": got '1', expected float or None"]
    assert faults(count=True) == ['argument "count": got True, expected int or None']


def test_whatever_a_class_raises_is_a_mistake_in_the_config() -> None:
    with (
        pytest.raises(InputError, match="evaluator X cannot be built from its config: ValueError: no such sigma, at"),
        building("evaluator X"),
    ):
        raise ValueError("no such sigma")
