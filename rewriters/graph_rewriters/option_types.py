"""Whether an option that came from a config or the command line is what its rewriter's signature asks for."""

import types
from collections.abc import Mapping, Sequence
from typing import Any, Union, get_args, get_origin


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type: a class, X | Y, Sequence[X], Mapping[str, X] or Any.

    True is no int; 1 is a float.
    """
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in inner)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(fits(k, inner[0]) and fits(v, inner[1]) for k, v in value.items())
    if origin is Sequence:
        return isinstance(value, Sequence) and not isinstance(value, str) and all(fits(one, inner[0]) for one in value)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, hint) and (hint is bool or not isinstance(value, bool))


def format_type(hint: Any) -> str:
    """A type as an error message names it.

    >>> format_type(Mapping[str, int] | None), format_type(Sequence[str])
    ('a dict of str to int or None', 'a list of str')
    """
    origin, inner = get_origin(hint), [format_type(one) for one in get_args(hint)]
    if origin in (Union, types.UnionType):
        return " or ".join(inner)
    if origin is Mapping:
        return f"a dict of {inner[0]} to {inner[1]}"
    if origin is Sequence:
        return f"a list of {inner[0]}"
    return "None" if hint is types.NoneType else "anything" if hint is Any else str(hint.__name__)
