"""The flags of a target whose values have a form of their own: axes and their ranges, options of an engine."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from zoo.engine_options import EngineOptions
from zoo.errors import InputError, nearest
from zoo.target import BATCH, AxisRange


def parse_dynamic(flags: Iterable[str], known: Sequence[str]) -> dict[str, AxisRange | None]:
    """From the command line's ``AXIS`` or ``AXIS=MIN:OPT:MAX``. ``known``: the axes of the input kind.

    Raises InputError that names the flag.
    """
    axes: dict[str, AxisRange | None] = {}
    for flag in flags:
        axis, separator, bounds = flag.partition("=")
        if axis not in known:
            raise InputError(f'--dynamic {flag}: unknown axis "{axis}"; {nearest(axis, known)}')
        if axis in axes:
            raise InputError(f"--dynamic {flag}: {axis} was given before; give each axis once")
        axes[axis] = _bounds(flag, axis, bounds) if separator else None
    return axes


def parse_engine(flags: Iterable[str]) -> dict[str, Any]:
    """Options of an engine from the command line's ``OPTION=VALUE``; lists have commas. Raises InputError."""
    options: dict[str, Any] = {}
    kinds = {field.name: str(field.type) for field in fields(EngineOptions)}
    for flag in flags:
        name, separator, text = flag.partition("=")
        if not separator:
            raise InputError(f"--engine {flag}: expected OPTION=VALUE, for example workspace_mib=1024")
        if name not in kinds:
            raise InputError(f'--engine {flag}: unknown option "{name}"; {nearest(name, kinds)}')
        options[name] = [_plain(part) for part in text.split(",")] if kinds[name].startswith("tuple") else _plain(text)
        if name == "compute_capabilities":
            options[name] = text.split(",")
    return options


def _plain(text: str) -> bool | int | str:
    """true, false and whole numbers as what they are."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return int(text) if re.fullmatch(r"\d+", text, re.ASCII) else text


def _bounds(flag: str, axis: str, text: str) -> AxisRange:
    example = "batch=1:2:8" if axis == BATCH else f"{axis}=320:640:960"
    if not re.fullmatch(r"\d+:\d+:\d+", text, re.ASCII):
        raise InputError(f"--dynamic {flag}: expected three whole numbers min:opt:max, for example {example}")
    low, preferred, high = map(int, text.split(":"))
    cure = f"Give min:opt:max in rising order, for example {example}."
    if low < 1:
        raise InputError(f"--dynamic {flag}: min {low} is below 1. {cure}")
    for smaller, value, larger, bound in (("min", low, "opt", preferred), ("opt", preferred, "max", high)):
        if value > bound:
            if low > high:
                raise InputError(f"--dynamic {flag}: min {low} is above max {high}. {cure}")
            raise InputError(f"--dynamic {flag}: {smaller} {value} is above {larger} {bound}. {cure}")
    return AxisRange(low, preferred, high)
