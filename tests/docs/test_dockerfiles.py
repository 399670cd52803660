"""The Dockerfiles of examples/serving: a few rules, most of them hadolint's. Nothing is built."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parents[2] / "examples" / "serving").glob("*.Dockerfile"))
INSTRUCTIONS = {
    "ARG",
    "CMD",
    "COPY",
    "ENV",
    "EXPOSE",
    "FROM",
    "HEALTHCHECK",
    "RUN",
    "STOPSIGNAL",
    "USER",
    "WORKDIR",
}
TAGGED = r"[\w./-]+:(?!latest)[\w.-]+"
Instruction = tuple[str, str]


def instructions(text: str) -> list[Instruction]:
    """Each with its arguments, continued lines joined, comments left out."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    parts = [line.partition(" ") for line in joined.splitlines() if line]
    return [(word, rest.strip()) for word, _, rest in parts]


def is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except ValueError:
        return False


def faults(text: str) -> Iterator[str]:
    """What a rule is broken by."""
    found = instructions(text)
    words = [word for word, _ in found]
    arguments = {rest.partition("=")[0] for word, rest in found if word == "ARG"}
    yield from (f"unknown instruction {word}" for word in words if word not in INSTRUCTIONS)
    yield from (f"{words.count(word)} {word}" for word in ("CMD", "HEALTHCHECK", "USER") if words.count(word) != 1)
    for word, rest in found:
        if (
            word == "FROM"
            and rest.strip("${}") not in arguments
            and not re.fullmatch(r"[\w./-]+:(?!latest)[\w.-]+", rest)
        ):
            yield f"FROM {rest}: no tag (DL3006, DL3007)"
        if word == "WORKDIR" and not rest.startswith("/"):
            yield f"WORKDIR {rest}: not absolute (DL3000)"
        if word == "USER" and rest in ("root", "0"):
            yield "USER root (DL3002)"
        if word == "CMD" and not is_json(rest):
            yield "CMD is no JSON list: a shell would get SIGTERM (DL3025)"
        if word == "HEALTHCHECK" and not is_json(rest.partition("CMD ")[2]):
            yield "HEALTHCHECK without a JSON list"
        if word == "RUN":
            yield from faults_of_run(rest)
    if any(word == "CMD" and '"serve"' in rest for word, rest in found) and ("STOPSIGNAL", "SIGINT") not in found:
        yield "serve run without STOPSIGNAL SIGINT: SIGTERM aborts it"
    if words[-1:] != ["CMD"] or ("USER" in words and "RUN" in words[words.index("USER") :]):
        yield "CMD last, and RUN before USER"


def faults_of_run(command: str) -> Iterator[str]:
    if "pip install" in command and "--no-cache-dir" not in command:
        yield "pip keeps its cache (DL3042)"
    if "apt-get" in command and not ("--no-install-recommends" in command and "rm -rf /var/lib/apt/lists" in command):
        yield "apt-get installs too much, or keeps its lists (DL3009, DL3015)"
    if re.search(r"\b(sudo|cd)\b", command):
        yield "sudo or cd (DL3004, DL3003)"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_rule_is_broken(path: Path) -> None:
    assert list(faults(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_page_names_it_and_it_says_that_it_was_not_built(path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
    assert f"`{path.name}`" in page
    assert "# Not built by the tests of zooport." in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("good", "bad", "fault"),
    [
        ("FROM python:3.11-slim", "FROM python", "DL3006"),
        ("FROM python:3.11-slim", "FROM python:latest", "DL3007"),
        ("WORKDIR /srv", "WORKDIR srv", "DL3000"),
        ("USER service", "USER root", "DL3002"),
        ("--no-cache-dir ", "", "DL3042"),
        ('CMD ["python", "service.py"]', "CMD python service.py", "DL3025"),
        ("RUN useradd", "RUN cd / && useradd", "DL3003"),
        ("RUN useradd", "RUN apt-get install git && useradd", "DL3015"),
        ("STOPSIGNAL SIGTERM", "ADD x y", "unknown instruction ADD"),
        ("USER service\n", "", "0 USER"),
        ('CMD ["python", "service.py"]', 'CMD ["serve", "run", "app"]', "serve run without STOPSIGNAL SIGINT"),
    ],
)
def test_each_rule_finds_its_fault(good: str, bad: str, fault: str) -> None:
    text = next(path for path in FILES if path.stem == "service").read_text(encoding="utf-8")
    assert good in text
    assert any(fault in each for each in faults(text.replace(good, bad)))
