"""Declared constants beside what the graph reads: each is there by value, and nothing else stands in its place."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.parity.constants.readings import Reading, ReadNode
from pipeline.parity.constants.wording import array_text, attributes_text, number_text
from pipeline.parity.records import ComparedConstant
from zoo.contract.constants import Attributes, Constant, Read
from zoo.contract.constants.constant import Form

Array = NDArray[Any]
FEW = 16  # a node that reads at most so many numbers is asked for single ones of them
ULPS = 4  # of an array's largest number: exporters compute anchors in another order
COMPARISONS = ("Greater", "GreaterOrEqual", "Less", "LessOrEqual")
NEUTRAL = (0.0, -1.0, 1.0, 0.5, np.inf, -np.inf)
"""What nodes compare with that is no threshold: empty slots, and sides of a map."""
DECIDING = {"TopK": 1, "NonMaxSuppression": 3, **dict.fromkeys(COMPARISONS)}
"""Operators whose constants all have to be declared, and the input at which: any where that is None."""


class GraphSide:
    """What a graph reads, asked for by operator and module. ``half``: whether numbers may be rounded to fp16."""

    def __init__(self, readings: Sequence[Reading], nodes: Sequence[ReadNode], *, half: bool) -> None:
        self.readings = readings
        self.nodes = nodes
        self.half = half

    def reads(self, module: str, operators: Sequence[str]) -> list[Array]:
        """What nodes of these operators read in a module, or where the module is not known."""
        return [
            reading.value
            for reading in self.readings
            if reading.operator in operators and reading.module in (module, None) and reading.value.dtype.kind in "iuf"
        ]

    def attributes(self, module: str, operator: str) -> list[ReadNode]:
        """The nodes of this operator in a module, or of no known module."""
        return [node for node in self.nodes if node.operator == operator and node.module in (module, None)]

    def equal(self, actual: Array, expected: Array) -> NDArray[np.bool_]:
        """Number by number. As near as float32, or fp16 where that is what is stored, can hold the expected one."""
        one, two = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
        largest = float(np.abs(two).max(initial=0.0))
        allowed = float(np.spacing(np.float32(largest))) * (ULPS if two.ndim else 1)
        same: NDArray[np.bool_] = np.abs(one - two) <= allowed
        if actual.dtype.kind == "f" and (self.half or actual.dtype == np.float16):
            with np.errstate(over="ignore"):
                rounded, step = one.astype(np.float16) == one, np.spacing(np.abs(two).astype(np.float16))
            same |= rounded & (np.abs(one - two) <= 0.5 * step.astype(np.float64) + allowed)
        equal: NDArray[np.bool_] = np.asarray(same | (one == two))
        return equal


def compare_constants(constants: Sequence[Constant], side: GraphSide) -> Iterator[ComparedConstant]:
    """One record for each declared constant, then one for each number in a deciding place that nobody declared."""
    for constant in constants:
        passed = any(all(_holds(part, constant.module, side) for part in form) for form in constant.forms)
        form = constant.forms[0] if passed else _likeliest(constant, side)
        yield ComparedConstant(
            constant.name,
            constant.module,
            "; ".join(_expected(part) for part in form),
            "the same" if passed else "; ".join(_found(part, constant, constants, side) for part in form),
            passed,
        )
    yield from _undeclared(constants, side)


def _holds(part: Read | Attributes, module: str, side: GraphSide) -> bool:
    if isinstance(part, Attributes):
        return any(not _differing(part, node, side) for node in side.attributes(module, part.operator))
    return _times(part, side.reads(module, part.operators), side) >= part.count


def _times(part: Read, values: Sequence[Array], side: GraphSide) -> int:
    """How often the values hold what is asked for."""
    if part.value.size == 1:
        few = [value.ravel() for value in values if value.size <= FEW]
        return sum(int(side.equal(value, part.value.reshape(())).sum()) for value in few)
    return sum(bool(side.equal(value, part.value.ravel()).all()) for value in _of_size(part, values))


def _of_size(part: Read, values: Sequence[Array]) -> list[Array]:
    """Those with as many numbers as the array asked for, one of several images that repeat it as one."""
    size = part.value.size
    rows = [value.reshape(-1, size) for value in values if value.size and value.size % size == 0]
    return [value[0] for value in rows if (value == value[:1]).all()]


def _differing(part: Attributes, node: ReadNode, side: GraphSide) -> dict[str, Any]:
    """The node's attributes that are others than asked for, None for one that it does not have."""
    return {
        name: node.attributes.get(name)
        for name, value in part.values.items()
        if name not in node.attributes or not _same_attribute(node.attributes[name], value, side)
    }


def _same_attribute(actual: Any, expected: Any, side: GraphSide) -> bool:
    if isinstance(expected, str) or isinstance(actual, str):
        return bool(actual == expected)
    one, two = np.asarray(actual), np.asarray(expected)
    return one.shape == two.shape and bool(side.equal(one, two).all())


def _likeliest(constant: Constant, side: GraphSide) -> Form:
    """The form of which the graph has most."""
    return max(constant.forms, key=lambda form: sum(_holds(part, constant.module, side) for part in form) / len(form))


def _expected(part: Read | Attributes) -> str:
    if isinstance(part, Attributes):
        return attributes_text(part.values)
    text = number_text(part.value) if part.value.size == 1 else array_text(part.value)
    return f"{part.count} times {text}" if part.count > 1 else text


def _found(part: Read | Attributes, constant: Constant, constants: Sequence[Constant], side: GraphSide) -> str:
    """What the graph has in the place of a part, the nearest first."""
    if isinstance(part, Attributes):
        return _found_attributes(part, side.attributes(constant.module, part.operator), constants, side)
    values = side.reads(constant.module, part.operators)
    if part.value.size > 1:
        return _found_array(part, constant, _of_size(part, values), side)
    few = [value.ravel().astype(np.float64) for value in values if value.size <= FEW]
    numbers = {float(number) for value in few for number in value if np.isfinite(number)}
    nearest = sorted(numbers, key=lambda number: abs(number - float(part.value.item())))[:3]
    text = ", ".join(number_text(np.float32(number)) for number in nearest) or "none"
    return f"{_times(part, values, side)} times, of {text}" if part.count > 1 else text


def _found_attributes(
    part: Attributes, nodes: Sequence[ReadNode], constants: Sequence[Constant], side: GraphSide
) -> str:
    """What differs in the node that is nearest, of those that no other constant asks for."""
    others = [node for node in nodes if not _is_declared(node, constants, side)] or nodes
    nearest = min((_differing(part, node, side) for node in others), key=len, default=None)
    if nearest is None:
        return f"no {part.operator}"
    return attributes_text(nearest) if nearest else "the same"


def _is_declared(node: ReadNode, constants: Sequence[Constant], side: GraphSide) -> bool:
    """Whether the node is just what some constant asks for."""
    parts = (part for constant in constants for form in constant.forms for part in form)
    return any(
        isinstance(part, Attributes) and part.operator == node.operator and not _differing(part, node, side)
        for part in parts
    )


def _found_array(part: Read, constant: Constant, values: Sequence[Array], side: GraphSide) -> str:
    expected = part.value.astype(np.float64)
    if not values:
        return f"no {array_text(part.value, values=False)}"
    nearest = min(
        (value.astype(np.float64).reshape(expected.shape) for value in values), key=lambda v: _gap(v, expected)
    )
    if side.equal(nearest, expected).all():
        return "the same"
    same = side.equal(nearest, expected).reshape(len(expected), -1)
    rows = np.asarray(~same.all(axis=1))
    where, start = [], 0
    for name, count in constant.parts if sum(n for _, n in constant.parts) == len(expected) else ():
        if wrong := int(rows[start : start + count].sum()):
            where.append(f"{name}: {wrong} of {count}")
        start += count
    place = "; ".join(where) or f"{int(rows.sum())} of {len(expected)}"
    return f"off by up to {_gap(nearest, expected):.3g} ({place})" + ("" if where else f": {array_text(nearest)}")


def _gap(one: Array, two: Array) -> float:
    return float(np.nan_to_num(np.abs(one - two), nan=np.inf).max(initial=0.0))


def _undeclared(constants: Sequence[Constant], side: GraphSide) -> Iterator[ComparedConstant]:
    declared: dict[tuple[str, str], list[Array]] = {}
    for constant in constants:
        for part in (part for form in constant.forms for part in form if isinstance(part, Read)):
            for operator in part.operators:
                declared.setdefault((constant.module, operator), []).append(part.value)
    modules = {module for module, _ in declared}
    for reading in side.readings:
        slot = DECIDING.get(reading.operator, -1)
        kind = "iu" if reading.operator == "TopK" else "f"
        if reading.module not in modules or slot not in (None, reading.slot) or reading.value.dtype.kind not in kind:
            continue
        if reading.in_operator:
            continue
        known = declared.get((reading.module, reading.operator), [])
        numbers = reading.value.ravel()[:FEW]
        unknown = [x for x in numbers if not any(side.equal(x, v).any() for v in known if v.size == 1)]
        if reading.operator in COMPARISONS:
            unknown = [x for x in unknown if float(x) not in NEUTRAL]
        if unknown:
            expected = ", ".join(dict.fromkeys(number_text(v) for v in known if v.size == 1)) or "none"
            text = ", ".join(number_text(x) for x in unknown)
            yield ComparedConstant(f"what {reading.operator} reads", reading.module, expected, text, passed=False)
