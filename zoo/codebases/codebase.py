"""What zooport knows of a codebase of OpenMMLab: each is a package of zoo.codebases that registers one object."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar

from zoo.codebases.config import CodebaseConfig, type_name
from zoo.subpackages import import_subpackages

PACKAGE = "zoo.codebases"


@dataclass(frozen=True)
class Translation:
    """A config of a codebase, in the sections of a zooport config.

    `what`: the model, for the first line of the config. `content`: the sections; `task` without its classes.
    `num_classes`: the model's. `category_ids`: those of the classes in the annotations, in order; None for those that
    have none. `notes`: what the reader must know, by the key to which it belongs.
    """

    what: str
    content: Mapping[str, Any]
    num_classes: int
    category_ids: Sequence[int | None]
    notes: Mapping[str, str] = field(default_factory=dict)


class Codebase(ABC):
    """One of OpenMMLab's libraries: how its configs are recognised, and what they come to."""

    scope: ClassVar[str]
    """Of its registries: "mmseg", as `default_scope` has it."""
    preprocessors: ClassVar[frozenset[str]]
    """The types of `model.data_preprocessor` that only its configs have."""

    @abstractmethod
    def translate(self, config: CodebaseConfig, preprocess: Mapping[str, Any] | None = None) -> Translation:
        """What a config comes to. Raises InputError that names what has no counterpart.

        `preprocess`: in the place of that of the config, None for its own.
        """

    def metainfo_names(self, dataset: str) -> tuple[str, ...]:
        """The names of the classes that a type of data set has in the library's registry.

        Empty where the library, which is not needed otherwise, is not installed, or has no names for it.
        """
        try:  # without its operators, mmcv stops the import of the library; by its name, because it imports torch
            import_module(f"{PACKAGE}.mmcv_ext.stand_in").provide()
            import_module(f"{self.scope}.datasets")
            registry: Any = import_module(f"{self.scope}.registry").DATASETS
        except Exception:  # noqa: BLE001 - a library that does not go with mmcv's version raises whatever it likes
            return ()
        return tuple(getattr(registry.get(type_name(dataset)), "METAINFO", {}).get("classes", ()))


_CODEBASES: dict[str, Codebase] = {}


def register_codebase(codebase: type[Codebase]) -> type[Codebase]:
    """A decorator: makes a codebase known."""
    _CODEBASES[codebase.scope] = codebase()
    return codebase


def known_codebases() -> Mapping[str, Codebase]:
    """All of them, by scope."""
    import_subpackages(PACKAGE)
    return _CODEBASES
