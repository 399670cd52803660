"""What the three mappings share: refusals, sizes, interpolations, and the check of what comes out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any

from zoo.errors import InputError
from zoo.preprocess import Preprocess

FieldMapping = Callable[[Mapping[str, Any]], dict[str, Any]]
INTERPOLATIONS: Mapping[str, str] = {"bilinear": "antialias", "bicubic": "antialias_bicubic"}
WRITE = "write the config's preprocess by hand, if the model was trained with something that it has"


def typed(source: str) -> Callable[[FieldMapping], FieldMapping]:
    """Decorates a mapping of fields: a value that its arithmetic does not take is an InputError."""

    def decorate(mapping: FieldMapping) -> FieldMapping:
        @wraps(mapping)
        def mapped(fields: Mapping[str, Any]) -> dict[str, Any]:
            try:
                return mapping(fields)
            except InputError:
                raise
            except (TypeError, ValueError, ArithmeticError) as error:
                raise InputError(f"{source}: a field has a value of the wrong kind ({error}); {WRITE}") from error

        return mapped

    return decorate


def refusal(source: str, field: str, value: object, expected: str) -> InputError:
    """One line for a field that has no counterpart."""
    return InputError(f"{source}: {field} is {value!r}, expected {expected}; {WRITE}")


def interpolation(source: str, field: str, name: object) -> str:
    """Of a name in lower case. Raises InputError."""
    if name not in INTERPOLATIONS:
        raise refusal(source, field, name, f"{' or '.join(INTERPOLATIONS)}, antialiased")
    return INTERPOLATIONS[str(name)]


def sides(source: str, field: str, value: object) -> tuple[int, ...]:
    """One or two lengths in pixels, of a number, or of a list of one or two. Raises InputError."""
    values = tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
    if len(values) not in (1, 2) or not all(_is_length(one) for one in values):
        raise refusal(source, field, value, "whole pixels, or height and width")
    return values


def numbers(source: str, field: str, value: object) -> tuple[float, ...]:
    """Three numbers. Raises InputError."""
    values = tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else ()
    if len(values) != 3 or not all(isinstance(one, int | float) for one in values):  # noqa: PLR2004 - the channels
        raise refusal(source, field, value, "a number for each of three channels")
    return values


def check_known(source: str, fields: Iterable[str], known: Iterable[str]) -> None:
    """Raises InputError for a field that nobody here knows: it may change the image."""
    if unknown := sorted(set(fields) - set(known)):
        raise InputError(f"{source}: {unknown[0]} has no counterpart in a config's preprocess; {WRITE}")


def checked(source: str, preprocess: dict[str, Any]) -> dict[str, Any]:
    """The mapping, if it is a valid section. Raises InputError that names the source."""
    try:
        Preprocess.from_dict(preprocess)
    except InputError as error:
        raise InputError(f"{source}: {error}; {WRITE}") from error
    return preprocess


def _is_length(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
