"""One word for one thing, in code, messages and pages: the glossary's, not another that means the same."""

import re
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
    "likewise": "too, or in the same way",
}
"""A regular expression, of lower case and of whole words, which an underscore ends as well -> the word to take."""


def texts() -> list[Path]:
    """What people read: code, pages, templates."""
    files = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    for folder in FOLDERS:
        files += [path for kind in ("py", "md", "jinja") for path in (ROOT / folder).rglob(f"*.{kind}")]
    return [path for path in files if path.is_file() and path != Path(__file__)]


@pytest.mark.parametrize("word", INSTEAD)
def test_another_word_of_the_glossary_is_taken(word: str) -> None:
    pattern = re.compile(rf"(?<![a-z])({word})(?![a-z])", re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in texts()
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
        if pattern.search(line)
    ]
    assert found == [], f"write {INSTEAD[word]}"
