"""Names from outside as they may be shown: file names, class names and messages can hold anything (torch-free)."""

import unicodedata

CONTROLS = ("Cc", "Cs", "Zl", "Zp")
"""Categories: control characters, bytes of a file name that are no UTF-8 (surrogates), separators of lines."""
DIRECTIONS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
"""Classes of characters that turn the order of what follows: with them a name can look like another one."""


def printable(text: str) -> str:
    r"""The text in one line, with what would act on a terminal, or cannot be encoded, as Python writes it in a string.

    Everything else stays what it is, backslashes too.

    >>> printable("a\x1b[31m\n[/b]é")
    'a\\x1b[31m\\n[/b]é'
    """
    if text.isprintable():
        return text
    return "".join(_escaped(character) if _acts(character) else character for character in text)


def is_utf8(text: str) -> bool:
    """Whether a name can be written in UTF-8: Python keeps bytes of a file name that are none as half characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _acts(character: str) -> bool:
    return unicodedata.category(character) in CONTROLS or unicodedata.bidirectional(character) in DIRECTIONS


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
