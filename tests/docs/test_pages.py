"""What the pages say of the command line is true: commands, exit codes, messages."""

import re
import shlex
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from zooport.exit_codes import EXIT_CODES
from zooport.verbs import COMMANDS, VERBS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(path for path in DOCS.rglob("*.md") if path.parent.name != "measured")]
MOST = 250
"""Lines of prose of a page."""
ENTRIES = 40
"""Of the changelog, before its first release."""


def commands() -> list[tuple[str, str]]:
    """Each indented line that runs a command of zooport, without its comment; and its page and line."""
    lines = [
        (page.name, number, line)
        for page in PAGES
        for number, line in enumerate(page.read_text(encoding="utf-8").split("\n"), 1)
    ]
    return [
        (f"{page}:{number}", line.split("#")[0].strip())
        for page, number, line in lines
        if re.match(r"    zooport [a-z]", line) and not line.rstrip().endswith("\\")
    ]


@pytest.mark.parametrize(("place", "command"), commands())
def test_a_command_of_a_page_is_understood(place: str, command: str) -> None:
    verb, *arguments = shlex.split(command)[1:]
    parser = import_module(f"{COMMANDS}.{VERBS[verb].module}").parser()
    try:
        parser.parse_args(arguments)
    except SystemExit:
        pytest.fail(f"{place}: {command}")


def installs() -> list[tuple[str, str, str]]:
    """Each `pip install` of zooport: its page, what comes before its name, and its extras."""
    return [
        (page.name, *match)
        for page in PAGES
        for match in re.findall(r'pip install (.*)"(?:zooport|\.)\[([a-z,-]+)\]"', page.read_text(encoding="utf-8"))
    ]


def test_the_extras_that_pages_install_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert len(installs()) > 10
    unknown = {
        (page, extra)
        for page, _, extras in installs()
        for extra in extras.split(",")
        if extra not in project["optional-dependencies"]
    }
    assert not unknown


def test_the_readme_installs_the_checkout_itself_for_its_commands() -> None:
    """A copy of it would have neither weights nor images: see test_wheel.py."""
    assert [(flags, extras) for page, flags, extras in installs() if page == "README.md"] == [("-e ", "evaluate")]


def mentions() -> list[tuple[str, str, str]]:
    """Each `zooport VERB ...` within a sentence or a table: its page and line, the verb, and the rest."""
    return [
        (f"{page.name}:{number}", *match)
        for page in PAGES
        for number, line in enumerate(page.read_text(encoding="utf-8").split("\n"), 1)
        for match in re.findall(r"`zooport ([a-z-]+)([^`]*)`", line)
    ]


def test_the_flags_of_a_command_within_a_sentence_exist() -> None:
    assert len(mentions()) > 20
    unknown = []
    for place, verb, rest in mentions():
        parser = import_module(f"{COMMANDS}.{VERBS[verb].module}").parser()
        known = {flag for action in parser._actions for flag in action.option_strings}
        flags = re.findall(r"(?<![\w-])--?[a-z][\w-]*", rest)
        unknown += [f"{place}: zooport {verb} {flag}" for flag in flags if flag not in known]
    assert unknown == []


@pytest.mark.parametrize("page", ["deployments.md", "troubleshooting.md"])
def test_the_exit_codes_are_those_of_the_command_line(page: str) -> None:
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \|", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert {int(code): meaning for code, meaning in rows} == EXIT_CODES


def test_the_messages_of_the_troubleshooting_page_exist() -> None:
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    fragments = re.findall(r"^### `(.+)`$", page, re.MULTILINE)
    assert len(fragments) == 10
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for package in ("zoo", "backends", "pipeline", "zooport")
        for path in (ROOT / package).rglob("*.py")
    )
    assert [fragment for fragment in fragments if fragment not in code] == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "zoo.md"], ids=lambda page: page.name)
def test_a_page_is_no_longer_than_somebody_reads(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    prose = [line for line in text.split("\n") if line.strip() and not line.startswith(("    ", "|"))]
    assert len(prose) <= MOST


def test_the_changelog_says_what_a_user_can_do_and_no_more() -> None:
    """A change of something that was never released is no line of its own."""
    entries = [
        line for line in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n") if line.startswith("- ")
    ]
    assert len(entries) <= ENTRIES
