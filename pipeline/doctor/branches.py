"""The branches and loops of a model's source that go another way for another input: a trace would freeze them.

The model runs eagerly on two inputs, its lines are counted, and the statements whose counts differ are named. Not
found: a conditional expression and what else decides within one line; an exporter's own warnings name most of these.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn

from pipeline.doctor.source_location import SourceLocation, is_model_source

Lines = Counter[tuple[str, int]]
LOOPS = ast.For | ast.While
STATEMENTS = ast.If | LOOPS
COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def count_lines(module: nn.Module, feed: Mapping[str, Tensor]) -> Lines:
    """How often each line of the model's source runs, those of the functions' heads included. What it raises is raised.

    A debugger's or a coverage tool's trace function of this thread rests meanwhile.
    """
    lines: Lines = Counter()

    def on_line(frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            lines[frame.f_code.co_filename, frame.f_lineno] += 1
        return on_line

    def on_call(frame: FrameType, _event: str, _argument: Any) -> Any:
        code = frame.f_code
        if not is_model_source(code.co_filename):
            return None
        lines[code.co_filename, -code.co_firstlineno] += 1  # a call, beside the lines
        return on_line

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        with torch.no_grad():
            module(*(tensor.clone() for tensor in feed.values()))
    finally:
        sys.settrace(before)
    return lines


def parted(one: Lines, two: Lines) -> list[tuple[SourceLocation, str]]:
    """Statements that went another way in two runs, the outermost of each function, and their kind: branch or loop."""
    branches = []
    for file in sorted({file for file, _ in [*one, *two]}):
        try:
            tree = ast.parse(Path(file).read_text(encoding="utf-8"))
        except (OSError, SyntaxError, ValueError):
            continue
        counts = tuple({line: n for (name, line), n in lines.items() if name == file} for lines in (one, two))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                branches += [(SourceLocation(file, at.lineno), kind) for at, kind in _of_function(node, *counts)]
    return branches


def _of_function(
    function: ast.FunctionDef | ast.AsyncFunctionDef, one: Mapping[int, int], two: Mapping[int, int]
) -> Iterator[tuple[ast.stmt, str]]:
    """One that is called more often in one of the runs says nothing by itself: its caller does."""
    head = -min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
    if one.get(head, 0) == two.get(head, 0) != 0:
        yield from _of_block(function.body, one, two)


def _of_block(block: list[ast.stmt], one: Mapping[int, int], two: Mapping[int, int]) -> Iterator[tuple[ast.stmt, str]]:
    for place, statement in enumerate(block):
        if isinstance(statement, FUNCTIONS | ast.ClassDef):
            continue
        if isinstance(statement, STATEMENTS):
            after = [*statement.orelse[:1], *block[place + 1 : place + 2]]
            statements = [s for s in (*statement.body[:1], *after) if s.lineno != statement.lineno]
            if any(_reached(s, one) != _reached(s, two) for s in statements):
                yield statement, "branch" if isinstance(statement, ast.If) else "loop"
                return  # what follows, or lies within, may differ because of it
        for inner in _blocks(statement):
            yield from _of_block(inner, one, two)


def _reached(statement: ast.stmt, lines: Mapping[int, int]) -> int:
    """How often; for a statement that turns within its own line, whether at all."""
    count = lines.get(statement.lineno, 0)
    turns = isinstance(statement, LOOPS) or any(isinstance(part, COMPREHENSIONS) for part in ast.walk(statement))
    return min(count, 1) if turns else count


def _blocks(statement: ast.stmt) -> Iterable[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        if block := getattr(statement, name, None):
            yield block
    for handler in getattr(statement, "handlers", ()):
        yield handler.body
