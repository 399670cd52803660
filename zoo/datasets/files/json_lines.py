"""Lines of values in a JSON text. For error messages alone: reading a file without faults must cost nothing more."""

import re
from json import JSONDecoder

Key = str | int
WHITESPACE = re.compile(r"[ \t\n\r]*")


class JsonLines:
    """Where the values of a valid JSON text begin."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._children: dict[int, dict[Key, int]] = {}

    def line(self, *keys: Key) -> int:
        r"""The line, 1 and up, of the value under these keys and indices, or of the deepest of them that is there.

        >>> JsonLines('{"images": [\n{"id": 1},\n{"id":\n 2}]}').line("images", 1, "id")
        4
        """
        start = self._skip(0)
        for key in keys:
            if self._text[start] not in "{[" or key not in (children := self._walk(start)):
                break
            start = children[key]
        return self._text.count("\n", 0, start) + 1

    def _skip(self, position: int) -> int:
        match = WHITESPACE.match(self._text, position)
        return match.end() if match else position

    def _walk(self, start: int) -> dict[Key, int]:
        """The positions of the values of the object or list that begins at `start`; each is walked once."""
        if start in self._children:
            return self._children[start]
        decoder = JSONDecoder()
        children = self._children[start] = {}
        is_object = self._text[start] == "{"
        position = self._skip(start + 1)
        while self._text[position] not in "}]":
            key: Key = len(children)
            if is_object:
                key, position = decoder.raw_decode(self._text, position)
                position = self._skip(self._skip(position) + 1)  # past the colon
            children[key] = position
            _, position = decoder.raw_decode(self._text, position)
            position = self._skip(position)
            if self._text[position] == ",":
                position = self._skip(position + 1)
        return children
