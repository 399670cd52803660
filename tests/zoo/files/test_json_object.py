import pytest

from zoo.errors import InputError
from zoo.files.json_object import json_object

STRICT = [
    (b'{"a": NaN}', "NaN is not a JSON number"),
    (b'{"a": 1e999}', "1e999 is too large"),
    (b'{"a": 9223372036854775808}', "9223372036854775808... is too large"),
    (b'{"a": 1, "a": 2}', "a key appears twice"),
    (b'{"a": "\\ud800"}', "surrogates not allowed"),
]


def test_an_object_is_read() -> None:
    for strict in (False, True):
        assert json_object(b'{"a": [1, 2.5, null]}', "file", "again", strict=strict) == {"a": [1, 2.5, None]}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", r"file: not a JSON file \(.*\); again"),
        (b"\xff", r"file: not a JSON file \(.*\); again"),
        (b"[" * 100_000, r"file: not a JSON file \(.*recursion.*\); again"),
        (b"[]", "file: got a JSON list, expected an object; again"),
        (b"1", "file: got a JSON int, expected an object; again"),
    ],
)
def test_what_is_none_is_refused(content: bytes, fault: str, strict: bool) -> None:
    with pytest.raises(InputError, match=fault):
        json_object(content, "file", "again", strict=strict)


@pytest.mark.parametrize(("content", "fault"), STRICT)
def test_what_our_own_files_never_hold_is_refused_where_that_is_asked_for(content: bytes, fault: str) -> None:
    assert isinstance(json_object(content, "file", "again"), dict)
    with pytest.raises(InputError, match=fault):
        json_object(content, "file", "again", strict=True)
