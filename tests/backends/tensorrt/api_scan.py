"""Reads a source file for the attributes of the library's objects that it uses."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tests.backends.tensorrt.api import OBJECTS, PLAIN


class Use(NamedTuple):
    """An attribute chain that is read of an object of the library: "IBuilderConfig", ("set_flag",)."""

    owner: str
    chain: tuple[str, ...]
    line: int


def uses(tree: ast.AST) -> list[Use]:
    """All chains of attributes that start at a name in OBJECTS, the longest form of each."""
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            root, chain = _chain(node)
            if root is not None and chain:
                found.append(Use(OBJECTS[root], chain, node.lineno))
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
    """Whether the value is a chain or a call that starts at an object of the library."""
    while isinstance(value, ast.Call | ast.Subscript):
        value = value.func if isinstance(value, ast.Call) else value.value
    return isinstance(value, ast.Attribute) and _chain(value)[0] is not None and bool(_chain(value)[1])


def _chain(node: ast.expr) -> tuple[str | None, tuple[str, ...]]:
    """The name in OBJECTS that a chain of attributes starts at, and the rest; None where it starts elsewhere."""
    chain: list[str] = []
    while isinstance(node, ast.Attribute):
        of_self = isinstance(node.value, ast.Name) and node.value.id == "self"
        if of_self and node.attr.lstrip("_") in OBJECTS:
            return node.attr.lstrip("_"), tuple(reversed(chain))
        chain.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name) and node.id.lstrip("_") in OBJECTS:
        return node.id.lstrip("_"), tuple(reversed(chain))
    return None, ()
