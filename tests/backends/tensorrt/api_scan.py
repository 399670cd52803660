"""Reads a source file for the attributes of the library's objects that it uses."""

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from tests.backends.tensorrt.api import OBJECTS, PLAIN


class Use(NamedTuple):
    """An attribute chain that is read of an object of the library: "IBuilderConfig", ("set_flag",)."""

    owner: str
    chain: tuple[str, ...]
    line: int


def uses(tree: ast.AST) -> list[Use]:
    """All chains of attributes that start at a name in OBJECTS, wherever that stands: `loaded.engine.x`, `self._trt.x`.

    Each in its longest form; an object inside a chain, as dtype in `tensor.dtype.name`, is the end of one and the start
    of the next.
    """
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            names = _chain(node)
            starts = [place for place, name in enumerate(names) if name.lstrip("_") in OBJECTS]
            for start, end in pairwise([*starts, len(names) - 1]):
                if end > start:
                    found.append(Use(OBJECTS[names[start].lstrip("_")], names[start + 1 : end + 1], node.lineno))
    return found


def faults(tree: ast.AST) -> Iterator[str]:
    """What hides an object of the library from `uses`: a result that is used without a name, or under a new one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call) and _from_library(node.value):
            yield f"line {node.lineno}: .{node.attr} of a call's result; name the result first, by api.OBJECTS"
        for target, value in _assignments(node):
            for name in _names(target):
                if _from_library(value) and name not in OBJECTS and name not in PLAIN:
                    yield f'line {value.lineno}: "{name}" holds something of the library; add it to api.py'


def _assignments(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, ast.For | ast.comprehension):
        yield node.target, node.iter


def _names(target: ast.expr) -> list[str]:
    if isinstance(target, ast.Tuple | ast.List):
        return [name for element in target.elts for name in _names(element)]
    name = target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""
    return [name.lstrip("_")] if name and not _from_library(target) else []


def _from_library(value: ast.expr) -> bool:
    """Whether the value is a chain or a call that goes through an object of the library."""
    while isinstance(value, ast.Call | ast.Subscript):
        value = value.func if isinstance(value, ast.Call) else value.value
    return isinstance(value, ast.Attribute) and any(name.lstrip("_") in OBJECTS for name in _chain(value)[:-1])


def _chain(node: ast.expr) -> tuple[str, ...]:
    """The names of a chain of attributes in order; what it starts at is the first where that is a name, too."""
    chain: list[str] = []
    while isinstance(node, ast.Attribute):
        chain.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        chain.append(node.id)
    return tuple(reversed(chain))
