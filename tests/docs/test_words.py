"""One word for one thing, in code, messages and pages: the glossary's, not another that means the same."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("backends", "benchmarks", "configs", "docs", "pipeline", "rewriters", "tests", "tools", "zoo", "zooport")
INSTEAD = {
    "pictures?": "image",
    "mend(s|ed|ing)?": "fix",
    "told": "reported, given or called with",
    "(held|holds?) .{0,20} ?against": "compared with",
    "whoever": "the reader, the process, one who",
    "likewise": "also, or in the same way",
}
"""A regular expression, of lower case and of whole words, which an underscore ends as well -> the word to take."""
INSTEAD_IN_PAGES = {
    "lies": "is",
    "stands": "is",
    "whole numbers?": "integers",
    "anew": "again, or from random weights",
    "for ever": "never, or always",
    "(goes|go|going|went) on": "continue",
    "in the place of": "instead of",
    "all the same": "still",
    "will do": "is valid",
    "without a word": "silently",
    ", for (it|they)": "because",
    ", too[.,:;)]": "also",
}
"""The same, in the pages that people write and in messages; comments and docstrings may have these words."""
PACKAGES = ("backends", "pipeline", "rewriters", "tools", "zoo", "zooport")
GLOSSARY = "\n## Glossary\n"
"""Behind this, CONTRIBUTING.md has the words themselves."""


@cache
def texts() -> list[Path]:
    """What people read: code, pages, templates."""
    files = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    for folder in FOLDERS:
        files += [path for kind in ("py", "md", "jinja") for path in (ROOT / folder).rglob(f"*.{kind}")]
    return [path for path in files if path.is_file() and path != Path(__file__)]


def pages() -> list[Path]:
    """The pages that people write; measured ones and those of the zoo are made by scripts."""
    written = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
    return [*written, *(path for path in (ROOT / "docs").glob("*.md") if path.name != "zoo.md")]


def whole_words(word: str) -> re.Pattern[str]:
    """What finds a word, or one of several, in whatever case. A comma at its beginning stands behind a letter."""
    before = "" if word.startswith(",") else "(?<![a-z])"
    return re.compile(rf"{before}({word})(?![a-z])", re.IGNORECASE)


def lines_with(word: str, paths: list[Path]) -> list[str]:
    """Each line that has a word, with its file and number."""
    pattern = whole_words(word)
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in paths
        if pattern.search(text_of(path))  # most files have no such line
        for number, line in enumerate(text_of(path).split("\n"), 1)
        if pattern.search(line)
    ]


@cache
def text_of(path: Path) -> str:
    """Of a file, up to the glossary."""
    return path.read_text(encoding="utf-8").split(GLOSSARY)[0]


@cache
def messages() -> list[tuple[str, str]]:
    """Each text of the code that is no docstring, with {} for what is formatted in, and each line of the reports'
    templates: its file and line, and the text.
    """
    templates = [path for package in PACKAGES for path in (ROOT / package).rglob("*.html.jinja")]
    lines = [
        (f"{path.relative_to(ROOT)}:{number}", line)
        for path in templates
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
    ]
    return lines + [
        (f"{path.relative_to(ROOT)}:{node.lineno}", text)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for node, text in texts_in(ast.parse(path.read_text(encoding="utf-8")))
    ]


def texts_in(tree: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    """The texts of a module, those in several pieces as one."""
    nodes = list(ast.walk(tree))
    statements = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    pieces = {id(piece) for node in nodes if isinstance(node, ast.JoinedStr) for piece in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield node, "".join(piece.value if isinstance(piece, ast.Constant) else "{}" for piece in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in statements | pieces:
            yield node, node.value


@pytest.mark.parametrize("word", INSTEAD)
def test_another_word_of_the_glossary_is_taken(word: str) -> None:
    assert lines_with(word, texts()) == [], f"write {INSTEAD[word]}"


@pytest.mark.parametrize("word", INSTEAD_IN_PAGES)
def test_a_page_is_written_in_plain_english(word: str) -> None:
    assert lines_with(word, pages()) == [], f"write {INSTEAD_IN_PAGES[word]}"


def test_messages_are_found_also_those_in_several_pieces() -> None:
    tree = ast.parse('"""A page."""\nraise ValueError(f"{x!r}: go " "on" if y else "mend")\n')
    assert [text for _, text in texts_in(tree)] == ["{}: go on", "mend"]
    assert len(messages()) > 1000


@pytest.mark.parametrize("word", INSTEAD_IN_PAGES)
def test_a_message_is_written_in_plain_english(word: str) -> None:
    pattern = whole_words(word)
    matches = [f"{place}: {text}" for place, text in messages() if pattern.search(text)]
    assert matches == [], f"write {INSTEAD_IN_PAGES[word]}"


@pytest.mark.parametrize(
    ("word", "line"),
    [(", too[.,:;)]", "a detection, too. More"), (", for (it|they)", "yes, for it is"), ("told", "Told so")],
)
def test_the_patterns_find_what_they_are_for(word: str, line: str) -> None:
    assert word in INSTEAD | INSTEAD_IN_PAGES
    assert whole_words(word).search(line)
