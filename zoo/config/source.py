"""The source of a config: assignments of dicts, lists, strings and numbers."""

from collections.abc import Mapping, Sequence
from keyword import iskeyword
from textwrap import wrap
from typing import Any

from zoo.printable import printable

WIDTH = 110
INDENT = "    "


def config_source(
    docstring: str, comments: Sequence[str], content: Mapping[str, Any], above: Mapping[str, str] | None = None
) -> str:
    """The text of a file that assigns each entry of `content`; the comments are below the docstring.

    `above`: a comment above the assignment of a key.
    """
    first = printable(docstring).replace("\\", "/").replace('"', "'")
    lines = [f'"""{first}"""', ""]
    lines += [*(f"# {printable(comment)}" for comment in comments), ""] * bool(comments)
    for key, value in content.items():
        lines += [f"# {line}" for line in wrap(printable((above or {}).get(key, "")), WIDTH)]
        lines.append(f"{key} = {_value(value, len(key) + 3, '')}")
    return "\n".join(lines) + "\n"


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
    if isinstance(value, str) and value.isprintable():
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)
