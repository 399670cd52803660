"""Names of any characters in one line that acts on no terminal and can be encoded."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.printable import printable

names = st.text(st.characters() | st.characters(categories=["Cc", "Cs", "Cf", "Zl", "Zp"])) | st.binary().map(
    os.fsdecode
)


@given(names)
@settings(deadline=None)
def test_nothing_in_it_acts(name: str) -> None:
    shown = printable(name)
    shown.encode()
    assert len(shown.splitlines()) <= 1
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in shown)
    assert printable(shown) == shown
    back = shown.encode("latin-1", "backslashreplace").decode("unicode_escape") if "\\" not in name else name
    assert back == name


@pytest.mark.parametrize(
    "name",
    [
        "[/x] [bold]a[/bold] :smile:",
        "Zürich 2.jpg",
        "東京\u3000駅",
        "\\x1b",
        "👩\u200d🚀",
        "\u0645\u06cc\u200c\u062e",
        "a\u00a0b",
        "שלום",
    ],
)
def test_every_script_is_literal(name: str) -> None:
    assert printable(name) == name


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x9b31m", r"\x9b31m"),
        ("\u2028\u2029\x85", r"\u2028\u2029\x85"),
        ("a\u202egnp.exe", r"a\u202egnp.exe"),
        (os.fsdecode(b"\xff\xfe.jpg"), r"\udcff\udcfe.jpg"),
    ],
)
def test_what_acts_is_escaped(name: str, shown: str) -> None:
    assert printable(name) == shown
