"""Lines of values in JSON texts of any shape."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from zoo.datasets.files.json_lines import JsonLines

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
values = st.recursive(
    scalars,
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=4), children, max_size=4),
)


def paths(value: Any, keys: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [keys, *(path for key, child in children for path in paths(child, (*keys, key)))]


@given(values, st.sampled_from((None, 0, 1, "\t")), st.sampled_from(((",", ":"), (" , ", " : "))), st.booleans())
def test_every_value_is_found_where_it_begins(value: Any, indent: Any, separators: Any, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=ascii_only)
    lines = JsonLines(text)
    for path in paths(value):
        expected = value
        for key in path:
            expected = expected[key]
        found = lines.line(*path)
        # What begins on that line, after its key if it has one, is the value.
        starts = [p for p in range(len(text)) if text.count("\n", 0, p) + 1 == found]
        assert any(begins(text[p:], expected) for p in starts)


def begins(text: str, value: Any) -> bool:
    try:
        return bool(json.JSONDecoder().raw_decode(text)[0] == value)
    except json.JSONDecodeError:
        return False


def test_one_record_a_line() -> None:
    text = '{"info": {},\n"images": [\n{"id": 1, "w": 2},\n{"id": "}],[{", "w": 2},\n\n {\n"id": 3}\n]}'
    lines = JsonLines(text)
    assert [lines.line("images", index) for index in range(3)] == [3, 4, 6]
    assert lines.line("images", 2, "id") == 7
    assert lines.line("images") == 2
    assert lines.line() == 1


def test_what_is_not_there_has_the_line_of_what_would_hold_it() -> None:
    lines = JsonLines('{"images": [\n{"id": 1},\n{"id":\n2}]}')
    assert lines.line("images", 1, "width") == 3
    assert lines.line("images", 1, "id", "deeper") == 4
    assert lines.line("categories", 0) == 1


def test_of_a_key_that_is_there_twice_the_last_counts_as_in_json() -> None:
    text = '{"a": 1,\n"a": 2}'
    assert json.loads(text)["a"] == 2
    assert JsonLines(text).line("a") == 2
