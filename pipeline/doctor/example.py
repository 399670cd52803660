"""Example inputs from text, at the sizes and with the numbers that an export is tried with.

    images=float32[N=2,3,H=64,W=96:128]

An axis with a name may vary: the export declares it dynamic, and the file is tried at its other sizes, too. Those are
what follows the colon, or one more for the first axis and half as much again for the others.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from zoo.errors import InputError, nearest

DTYPES = {name: getattr(torch, name) for name in ("float32", "float16", "float64", "int64", "int32", "uint8", "bool")}
SHAPE = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<dtype>\w+)\[(?P<axes>[^\]]*)\]")
AXIS = re.compile(r"(?:(?P<name>[A-Za-z_]\w*)=)?(?P<size>\d+)(?P<others>(?::\d+)*)")
WHOLE = 4  # whole numbers are below it
CONTENTS = {"noise": 1.0, "faint noise": 1e-3, "negative noise": -1.0, "zeros": 0.0, "large noise": 255.0}
"""What a branch may go by: the example's own numbers, small ones, negative ones, none, those of an image of bytes; and
what floats are scaled by. Whole numbers are others in each."""
EXAMPLE = "noise"


@dataclass(frozen=True)
class Axis:
    """Of an input: the example's size, and other sizes that it may have; `name` is empty where it has none."""

    size: int
    name: str = ""
    others: tuple[int, ...] = ()


@dataclass(frozen=True)
class Input:
    """Of a model: what the example is made from."""

    name: str
    dtype: torch.dtype
    axes: tuple[Axis, ...]


@dataclass(frozen=True)
class Trial:
    """Inputs by name, and what sets them apart from the example: "" for itself, "N", "H W" or "numbers"."""

    label: str
    by: str
    feed: dict[str, Tensor]


def parse_input(text: str) -> Input:
    """Raises InputError for what is no NAME=DTYPE[SIZE,AXIS=SIZE,...]."""
    match = SHAPE.fullmatch(text.replace(" ", ""))
    if match is None:
        raise InputError(f'--input "{text}": expected NAME=DTYPE[SIZE,...], for example images=float32[N=2,3,64,96]')
    if match["dtype"] not in DTYPES:
        raise InputError(
            f'--input {match["name"]}: unknown dtype "{match["dtype"]}"; {nearest(match["dtype"], DTYPES)}'
        )
    axes = []
    for place, word in enumerate(filter(None, match["axes"].split(","))):
        axis = AXIS.fullmatch(word)
        if axis is None or not int(axis["size"]) or (axis["others"] and not axis["name"]):
            raise InputError(f'--input {match["name"]}: "{word}" is not SIZE, NAME=SIZE or NAME=SIZE:OTHER')
        size = int(axis["size"])
        others = tuple(int(other) for other in axis["others"].split(":") if other)
        usual = () if not axis["name"] else (size + 1,) if place == 0 else (size + (size + 1) // 2,)
        axes.append(Axis(size, axis["name"] or "", others or usual))
    return Input(match["name"], DTYPES[match["dtype"]], tuple(axes))


def parse_inputs(texts: Sequence[str]) -> list[Input]:
    """Raises InputError for a faulty one, a name that comes twice, and an axis of two sizes."""
    inputs = [parse_input(text) for text in texts]
    names = [one.name for one in inputs]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise InputError(f"--input {twice} is given twice; give each input once, in forward's order")
    sizes: dict[str, Axis] = {}
    for one in inputs:
        for axis in one.axes:
            if axis.name and sizes.setdefault(axis.name, axis).size != axis.size:
                known = sizes[axis.name].size
                raise InputError(
                    f"--input {one.name}: axis {axis.name} is {axis.size} here and {known} before; give one"
                )
    return inputs


def trials(inputs: Sequence[Input]) -> Iterator[Trial]:
    """The example, other numbers at its sizes, then other sizes: the first axes' alone, and those of all the others."""
    for content in CONTENTS:
        yield Trial(content, "" if content == EXAMPLE else "numbers", _feed(inputs, {}, content))
    named = {axis.name: (axis, place) for one in inputs for place, axis in enumerate(one.axes) if axis.name}
    first = {name: axis.others for name, (axis, place) in named.items() if place == 0}
    later = {name: axis.others for name, (axis, place) in named.items() if place}
    for group in (first, later):
        for turn in range(max(map(len, group.values()), default=0)):
            sizes = {name: others[min(turn, len(others) - 1)] for name, others in group.items()}
            label = " ".join(f"{name}={size}" for name, size in sizes.items())
            yield Trial(label, " ".join(sizes), _feed(inputs, sizes, EXAMPLE))


def _feed(inputs: Sequence[Input], sizes: dict[str, int], content: str) -> dict[str, Tensor]:
    chance = torch.Generator().manual_seed(0)
    return {
        one.name: _numbers([sizes.get(axis.name, axis.size) for axis in one.axes], one.dtype, content, chance)
        for one in inputs
    }


def _numbers(shape: list[int], dtype: torch.dtype, content: str, chance: torch.Generator) -> Tensor:
    if not dtype.is_floating_point:
        whole = 2 if dtype == torch.bool else WHOLE
        low = torch.randint(0, whole, shape, generator=chance)
        return ((low + list(CONTENTS).index(content)) % whole * (content != "zeros")).to(dtype)
    return (torch.rand(shape, generator=chance) * CONTENTS[content]).to(dtype)
