"""The source of a config: assignments of dicts, lists, strings and numbers."""

import math
import re
from collections.abc import Mapping, Sequence
from keyword import iskeyword
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import wrap
from types import NoneType
from typing import Any

from zoo.config.reading import read_config
from zoo.errors import InputError
from zoo.printable import printable

WIDTH = 110
PLAIN = (NoneType, bool, int, float)
INDENT = "    "
TEMPLATE = re.compile(r"\{(?=\{)")
"""Where one of mmengine's templates may begin, {{$VARIABLE:}} say: it fills them in before Python reads the file."""


def config_source(
    docstring: str, comments: Sequence[str], content: Mapping[str, Any], above: Mapping[str, str] | None = None
) -> str:
    """The text of a file that assigns each entry of `content`; the comments are below the docstring.

    `above`: a comment above the assignment of a key. Raises InputError for content that a config cannot hold, such as
    a NaN; the text is read back to be sure.
    """
    first = _comment(docstring).replace("\\", "/").replace('"', "'")
    lines = [f'"""{first}"""', ""]
    lines += [*(f"# {_comment(comment)}" for comment in comments), ""] * bool(comments)
    for key, value in content.items():
        lines += [f"# {line}" for line in wrap(_comment((above or {}).get(key, "")), WIDTH)]
        lines.append(f"{key} = {_value(value, len(key) + 3, '')}")
    text = "\n".join(lines) + "\n"
    _check(text, content)
    return text


def _check(text: str, content: Mapping[str, Any]) -> None:
    """Raises InputError where mmengine reads something else than the content."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "config.py"
        file.write_text(text, encoding="utf-8")
        read = read_config(file).to_dict()
    for key, value in content.items():
        if key not in read or read[key] != value:
            raise InputError(f"a config cannot hold {key} {value!r}: another value is read; correct what it is made of")


def _comment(text: str) -> str:
    return TEMPLATE.sub("{ ", printable(text))


def _value(value: Any, used: int, indent: str) -> str:
    """A value whose line has `used` characters before it."""
    short = _short(value)
    if used + len(short) <= WIDTH or not isinstance(value, dict | list | tuple) or not value:
        return short
    inner = indent + INDENT
    if isinstance(value, dict) and not _has_names(value):
        keys = [f"{_short(key)}: " for key in value]
        entries = zip(keys, value.values(), strict=True)
        parts = [key + _value(entry, len(inner) + len(key), inner) for key, entry in entries]
        opening, closing = "{", "}"
    elif isinstance(value, dict):
        parts = [f"{key}={_value(entry, len(inner) + len(key) + 1, inner)}" for key, entry in value.items()]
        opening, closing = "dict(", ")"
    else:
        parts = [_value(entry, len(inner), inner) for entry in value]
        opening, closing = ("[", "]") if isinstance(value, list) else ("(", ")")
    return "\n".join([opening, *(f"{inner}{part}," for part in parts), indent + closing])


def _has_names(value: Mapping[Any, Any]) -> bool:
    return all(isinstance(key, str) and key.isidentifier() and not iskeyword(key) for key in value)


def _short(value: Any) -> str:
    """A value in one line. The keys of a config's dicts are names; others are written as texts."""
    if isinstance(value, dict) and not _has_names(value):
        return "{" + ", ".join(f"{_short(key)}: {_short(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, dict):
        return f"dict({', '.join(f'{key}={_short(entry)}' for key, entry in value.items())})"
    if isinstance(value, list):
        return f"[{', '.join(map(_short, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_short, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, str):
        return _text(value)
    if not isinstance(value, PLAIN) or (isinstance(value, float) and not math.isfinite(value)):
        raise InputError(f"a config cannot hold {value!r}; correct what it is made of")
    return repr(value)


def _text(value: str) -> str:
    quoted = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if value.isprintable() else repr(value)
    return TEMPLATE.sub(r"\\x7b", quoted)
