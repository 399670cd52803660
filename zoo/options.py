"""What groups of options have in common: reading them from a config, writing them into a manifest (torch-free).

A backend declares the options of its build as such a group: `backends.Backend.options`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self, get_type_hints

from zoo.errors import InputError, nearest


def option(default: Any, what: str) -> Any:
    """A field of a group of options. ``what``: for --help."""
    return field(default=default, metadata={"help": what})


@dataclass(frozen=True)
class Options:
    """A group of options, each a field with a type, a default and words for --help; `__post_init__` checks values.

    ``WHAT``: what one of them is called in messages. ``ONLY_THE_BUILD``: options that bound a build, and leave what is
    built as it is; no manifest and no folder's name has them.
    """

    WHAT: ClassVar[str]
    ONLY_THE_BUILD: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def types(cls) -> dict[str, Any]:
        """The type of each option, by name."""
        hints = get_type_hints(cls)
        return {each.name: hints[each.name] for each in fields(cls)}

    @classmethod
    def help(cls) -> str:
        """Each option's name and what it is, on one line."""
        return ", ".join(f"{each.name} ({each.metadata['help']})" for each in fields(cls))

    def to_dict(self) -> dict[str, Any]:
        """What makes the result what it is, as JSON types."""
        names = (each.name for each in fields(self) if each.name not in self.ONLY_THE_BUILD)
        values = {name: getattr(self, name) for name in names}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Self:
        """From a config's or a manifest's section. Raises InputError for an unknown key, naming the nearest."""
        known = [each.name for each in fields(cls)]
        for name in options:
            if name not in known:
                raise InputError(f'unknown {cls.WHAT} "{name}"; {nearest(name, known)}')
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in options.items()})
