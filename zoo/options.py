"""What groups of options have in common: reading them from a config, writing them into a manifest (torch-free)."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from zoo.errors import InputError, nearest


@dataclass(frozen=True)
class Options:
    """A group of options, each a field with a default. ``WHAT``: what one of them is called in messages."""

    WHAT: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Self:
        """From a config's or a manifest's section. Raises InputError for an unknown key, naming the nearest."""
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise InputError(f'unknown {cls.WHAT} "{name}"; {nearest(name, known)}')
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in options.items()})
