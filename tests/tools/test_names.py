"""Names from outside are shown literally by every tool: no markup, no escape codes, no line of their own."""

import argparse
import ast
import json
import logging
import os
import sys
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tools.conftest import in_this_process
from tests.tools.tiny import Run, Tiny
from zoo.errors import InputError
from zoo.printable import printable
from zooport import running, terminal
from zooport.parser import Parser

Deploy = Callable[[Sequence[str]], Run]
NASTY = (
    "[/x]",
    "[bold]a[/bold]",
    ":smile:",
    "\x1b[31mred\x1b[0m",
    "a\nb",
    "a\rb",
    "\u202egnp",
    "<script>",
    os.fsdecode(b"\xff"),
)
names = st.lists(st.sampled_from(NASTY) | st.text(max_size=5) | st.binary(max_size=3).map(os.fsdecode)).map("".join)
FRONT_DOOR = Path(__file__).parents[2] / "zooport"
PRINTING = ("terminal.py", "running.py", "entry.py", "verbs.py")


def shown(write: Callable[[Any], None], *, to_terminal: bool = False) -> str:
    """What is printed on a console of our own, as a terminal or a pipe gets it."""
    stream, before = StringIO(), sys.stdout
    sys.stdout = stream
    try:
        console = terminal.open_console()
        console._force_terminal = to_terminal
        console.width = 10_000
        write(console)
    finally:
        sys.stdout = before
    return stream.getvalue()


@given(names)
@settings(deadline=None)
def test_a_line_is_what_it_says(name: str) -> None:
    for to_terminal in (False, True):
        text = shown(
            lambda console: console.print(f"file: {name}", soft_wrap=True, highlight=False), to_terminal=to_terminal
        )
        assert text == f"file: {printable(name)}\n"


@given(names.filter(lambda name: name.strip() != ""))
@settings(deadline=None)
def test_a_cell_of_a_table_is_what_it_says(name: str) -> None:
    from rich.table import Table

    def write(console: Any) -> None:
        table = Table(title=f"({name})")
        table.add_column(f"({name})", no_wrap=True)
        table.add_row(f"({name})")
        console.print(table)

    assert shown(write).count(f"({printable(name)})") == 3


@given(names)
@settings(deadline=None, max_examples=20)
def test_what_a_bar_says_has_no_escape_codes_of_the_names(name: str) -> None:
    def count(console: Any) -> None:
        with terminal.show_counts(console, "images") as (step, counted):
            step(name)
            counted(name, 1, 2)

    def step(console: Any) -> None:
        with terminal.show_steps(console, ["first"]) as begin:
            begin("first")
            begin(name)

    for write in (count, step):
        text = shown(write, to_terminal=True)
        assert "\x1b[31m" not in text
        assert "\u202e" not in text
        shown(write)


@given(names)
@settings(deadline=None)
def test_an_error_is_one_line(name: str) -> None:
    def fail(options: argparse.Namespace) -> dict[str, Any]:
        raise InputError(f"{name}: no such file")

    stream, before = StringIO(), sys.stderr
    sys.stderr = stream
    try:
        parser = Parser(prog="a", epilog="")
        parser.add_shared()
        assert running.run_tool(parser, fail, []) == 2
        assert running.run_tool(parser, fail, [f"+{name}"]) == 2
    finally:
        sys.stderr = before
    first, second, rest = stream.getvalue().split("\n")
    assert first == f"error: {printable(name)}: no such file"
    assert second.startswith(f"error: unknown argument +{printable(name)}")
    assert rest == ""


def test_a_traceback_and_a_log_escape_names_too(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(options: argparse.Namespace) -> dict[str, Any]:
        logging.getLogger("a").warning("read %s", "\x1b[31m")
        raise InputError("\x1b[31m\x9b: no")

    parser = Parser(prog="a", epilog="")
    parser.add_shared()
    root = logging.getLogger()
    before = root.handlers[:]
    root.handlers.clear()
    try:
        assert running.run_tool(parser, fail, ["-v"]) == 2
    finally:
        root.handlers[:] = before
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert r"a: read \x1b[31m" in err
    assert "\x1b" not in err
    assert "\x9b" not in err


def test_characters_that_the_terminal_has_not_end_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = BytesIO()
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(stream, encoding="ascii"))

    def work(options: argparse.Namespace) -> dict[str, Any]:
        terminal.open_console().print("é 東.jpg", highlight=False)
        terminal.write_line("é")
        return {}

    parser = Parser(prog="a", epilog="")
    parser.add_shared()
    assert running.run_tool(parser, work, []) == 0
    sys.stdout.flush()
    assert stream.getvalue() == b"\\xe9 \\u6771.jpg\n\\xe9\n"


def test_these_files_alone_print() -> None:
    for path in FRONT_DOOR.rglob("*.py"):
        if path.name in PRINTING:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                counts = ast.unparse(node.args[0])
                assert counts.startswith("f'\\r"), f"{path}: {counts}: use a console, or write_line"
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "Console":
                pytest.fail(f"{path}: use open_console")
            assert not (isinstance(node, ast.ImportFrom) and node.module == "rich.markup"), path


class Page(HTMLParser):
    """The text of a page, and whether it has elements of ours alone."""

    def __init__(self) -> None:
        super().__init__()
        self.alert = False
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.alert |= tag == "alert" or any(name == "onerror" for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_deploy_and_predict_with_names_of_any_kind(
    deploy: Deploy, tiny: Tiny, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    stems = ("[bold]b", "\x1b[31mc", "d\ne", os.fsdecode(b"\xff"), "<alert onerror='x'>", "a&amp;b")
    folder = tmp_path / "a[" / "x]"  # "[/x]" in every path
    folder.mkdir(parents=True)
    files = [folder / f"{stem}.png" for stem in stems]
    for number, file in enumerate(files):
        file.write_bytes(tiny.images[number % len(tiny.images)].read_bytes())
    data = tmp_path / "data.json"
    run = deploy(tiny.arguments("--image", *map(str, files), "--json", str(data)))
    assert (run.code, run.err) == (0, "")
    page = Page()
    page.feed((tiny.place / "report.html").read_text(encoding="utf-8"))
    assert not page.alert
    for file in files[:2]:
        assert printable(file.name) in page.text
    out = tmp_path / "[bold]out"
    predict = in_this_process("predict", capsys)
    run = predict([str(tiny.place), "--image", *map(str, files), "--out", str(out), "--json", str(data)])
    assert (run.code, run.err) == (0, "")
    written = [out / f"{file.stem}.png" for file in files]
    assert [line for line in run.out.split("\n") if str(out) in line] == [printable(str(path)) for path in written]
    assert json.loads(data.read_text(encoding="utf-8"))["written"] == [str(path) for path in written]
    assert all(path.is_file() for path in written)
