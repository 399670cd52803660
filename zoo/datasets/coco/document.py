"""A COCO annotation file: its lists of records, with the line of each fault."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from zoo.datasets.files.faults import Faults
from zoo.datasets.files.json_lines import JsonLines, Key
from zoo.datasets.files.text_file import read_text

Record = dict[str, Any]
SECTIONS: Mapping[str, tuple[str, Mapping[str, type]]] = {  # what one record is called, and what it must have
    "images": ("image", {"id": int, "file_name": str, "width": int, "height": int}),
    "categories": ("category", {"id": int}),
    "annotations": ("annotation", {"id": int, "image_id": int, "category_id": int, "bbox": list}),
}
JSON_NAMES = {int: "an integer", str: "a string", list: "a list"}
MOST_DIGITS = 18  # of a whole number: it fits int64, and all arithmetic
TOO_LONG = re.compile(rf'(?<![\w."+-])-?\d{{{MOST_DIGITS + 1},}}(?![\d.eE])')


class CocoDocument:
    """Reads the file; what is wrong with it goes to `faults`, and what is left is empty then."""

    def __init__(self, path: Path, faults: Faults) -> None:
        self._path, self._faults = path, faults
        self._content: Record = {}
        text = read_text(path, faults)
        if text is None:
            return
        try:
            content = json.loads(text, parse_int=_whole_number)
        except OverflowError as error:
            place = TOO_LONG.search(text)
            faults.add(path, str(error), text.count("\n", 0, place.start()) + 1 if place else None)
        except RecursionError:
            faults.add(path, "lists nested too deeply to be read; expected COCO annotations")
        except json.JSONDecodeError as error:
            faults.add(path, f"not JSON at column {error.colno}: {error.msg}", error.lineno)
        else:
            self._lines = JsonLines(text)
            self._accept(content)

    def _accept(self, content: object) -> None:
        if not isinstance(content, dict):
            self._faults.add(self._path, f"got a JSON {type(content).__name__}, expected an object with {_names()}", 1)
            return
        for section in SECTIONS:
            if not isinstance(content.get(section), list):
                self.fault(f'no list "{section}"; a COCO annotation file has {_names()}', section)
        self._content = content

    def fault(self, message: str, *keys: Key) -> None:
        """Collects a fault in the value under these keys."""
        self._faults.add(self._path, message, self.line(*keys))

    def line(self, *keys: Key) -> Callable[[], int]:
        """What finds the line of the value under these keys, when a fault is shown."""
        return partial(self._lines.line, *keys)

    def records(self, section: str) -> Iterator[tuple[int, Record]]:
        """The (index, record) of a section that have all they must, of the right type, and an id of their own."""
        name, fields = SECTIONS[section]
        seen: set[int] = set()
        records = self._content.get(section)
        for index, record in enumerate(records if isinstance(records, list) else ()):
            if not isinstance(record, dict):
                self.fault(f"{section}[{index}]: got {record!r:.40}, expected an object", section, index)
            elif wrong := [key for key in fields if type(record.get(key)) is not fields[key]]:
                self._wrong_type(section, index, record, wrong[0])
            elif record["id"] in seen:
                self.fault(f"{name} id {record['id']} is used twice", section, index, "id")
            else:
                seen.add(record["id"])
                yield index, record

    def _wrong_type(self, section: str, index: int, record: Record, key: str) -> None:
        name, fields = SECTIONS[section]
        who = f"{name} {record['id']}" if type(record.get("id")) is int else f"{section}[{index}]"
        got = f"got {record[key]!r:.40}" if key in record else "got none"
        self.fault(f'{who}: "{key}": {got}, expected {JSON_NAMES[fields[key]]}', section, index, key)


def _whole_number(digits: str) -> int:
    if (length := len(digits.lstrip("-"))) > MOST_DIGITS:
        raise OverflowError(f"an integer of {length} digits, expected {MOST_DIGITS} at most")
    return int(digits)


def _names() -> str:
    return ", ".join(f'"{section}"' for section in SECTIONS)
