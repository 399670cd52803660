"""One class of a model."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from zoo.errors import InputError, nearest

IGNORE_LABEL = 255
"""In a label map: a pixel without a class, which no loss and no metric counts."""


class ClassInfo(NamedTuple):
    """`name` for people; `category_id` in the data set's annotations, None for background and unused ids.

    The model's own id of a class is its index in the task's classes.
    """

    name: str
    category_id: int | None

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """From a config's or a manifest's mapping. Raises InputError for wrong keys or types."""
        for key in fields:
            if key not in cls._fields:
                raise InputError(f'class: unknown key "{key}"; {nearest(str(key), cls._fields)}')
        name, category_id = fields.get("name"), fields.get("category_id")
        if not isinstance(name, str) or not (category_id is None or type(category_id) is int):
            raise InputError(
                f"class: got name {name!r} and category_id {category_id!r}, expected a string and an int or None"
            )
        return cls(name, category_id)
