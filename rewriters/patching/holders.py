"""Which modules hold a function under a name of their own, as ``from x import f`` makes it."""

import sys
import weakref
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

Place = tuple[ModuleType, str]


class Holders:
    """Searches all modules once, and after that those that are new or have changed: there are thousands."""

    def __init__(self) -> None:
        self._places: dict[Any, dict[Place, None]] = {}
        self._states: dict[str, tuple[weakref.ref[ModuleType], int, Any]] = {}
        """Of each module how many names it had, and its specification: one that is loaded again has another."""

    def find(self, current: Mapping[Any, Any]) -> dict[Any, list[Place]]:
        """Of each function the places that hold what ``current`` has for it: itself, or what took its place."""
        if not current.keys() <= self._places.keys():
            self._places |= {function: {} for function in current}
            self._states.clear()
        functions = {id(function): function for function in self._places}
        functions |= {id(value): function for function, value in current.items()}
        for key, module in list(self.changed()):
            for name, value in named_values(module, functions):
                self._places[functions[id(value)]][module, name] = None
            self._states[key] = (weakref.ref(module), len(vars(module)), vars(module).get("__spec__"))
        return {
            function: [(module, name) for module, name in self._places[function] if vars(module).get(name) is value]
            for function, value in current.items()
        }

    def changed(self) -> Iterator[tuple[str, ModuleType]]:
        """The modules that were imported, or got names, after the last search."""
        for key, module in list(sys.modules.items()):
            if key in self._states:
                reference, names, specification = self._states[key]
                content = module.__dict__
                unchanged = names == len(content) and specification is content.get("__spec__")
                if unchanged and reference() is module:
                    continue
            if isinstance(module, ModuleType):
                yield key, module


def named_values(module: ModuleType, ids: Mapping[int, Any]) -> Iterator[tuple[str, Any]]:
    """The names of a module whose values have these ids, with the values."""
    if not ids.keys().isdisjoint(map(id, list(vars(module).values()))):
        yield from [(name, value) for name, value in vars(module).items() if id(value) in ids]
