"""A config as the rest of zooport sees it: its sections, typed, checked and frozen."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from zoo.config.export_section import ExportSection
from zoo.config.located import is_address, located
from zoo.custom_imports import dotted_types
from zoo.custom_sources import folder_hashes, source_hashes
from zoo.tasks import Task, build_task

Section = Mapping[str, Any]
"""What a registry builds: its ``type``, a str, and the arguments of that class."""
BUILT = ("model", "task", "train_dataset", "dataset", "gate_dataset", "calibration_dataset", "evaluator")
"""The keys of such sections."""


@dataclass(frozen=True)
class CardSection:
    """What a config says of its model: what it is, where it was published, and the licence of its weights."""

    what: str
    paper: str
    licence: str


@dataclass(frozen=True)
class ModelConfig:
    """``path``: the file. ``locate`` finds what relative paths in it name. What the file leaves out is None.

    ``preprocess``: the rule of the task's input kind, for images a zoo.preprocess.Preprocess.
    ``gates``: those that replace the defaults, by comparison and name. ``train``: the recipe of a training.
    ``train_dataset``: what it learns from; None for the shipped recipes, whose data is generated.
    ``content``: the whole file, its bases included, as plain dicts, lists and numbers, for hashes and records.
    """

    path: Path
    model: Section
    task: Task
    preprocess: Any
    export: ExportSection = field(default_factory=ExportSection)
    checkpoint: str | None = None
    train_dataset: Section | None = None
    dataset: Section | None = None
    gate_dataset: Section | None = None
    calibration_dataset: Section | None = None
    evaluator: Section | None = None
    gates: Mapping[str, Any] | None = None
    train: Mapping[str, Any] | None = None
    card: CardSection | None = None
    content: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.path.stem

    def locate(self, value: str, *keys: str) -> Path:
        """The file or folder that the value of a key names, `locate(root, "dataset", "root")`; it may be missing.

        A relative path starts at the file in which it is written: this config, or the base that it comes from.
        """
        return located(self.path, keys, value)

    @property
    def weights(self) -> str | None:
        """The checkpoint, as zoo.checkpoint.load_checkpoint takes it: an address, or the path of its file."""
        if self.checkpoint is None or is_address(self.checkpoint):
            return self.checkpoint
        return str(self.locate(self.checkpoint, "checkpoint"))

    def custom_modules(self, sections: Iterable[str] = BUILT) -> tuple[str, ...]:
        """The modules that the config imports: by ``custom_imports``, and by types in these sections that name them."""
        names = self.content.get("custom_imports", {}).get("imports", ())
        types = [kind for key in sections for _, kind in dotted_types(key, self.content.get(key))]
        return (*((names,) if isinstance(names, str) else names), *(kind.rpartition(".")[0] for kind in types))

    def source_hashes(self, sections: Iterable[str] = BUILT) -> dict[str, str]:
        """The sha256 of the files in the config's folder that those modules are, or import in turn, by their place.

        And of those that describe the model, in a folder that the section `model` names.
        """
        named = {value: self.locate(value, "model", key) for key, value in self.model.items() if isinstance(value, str)}
        return source_hashes(self.custom_modules(sections), self.path.parent) | folder_hashes(named)

    @classmethod
    def from_dict(cls, path: Path, content: Mapping[str, Any]) -> Self:
        """From the content of a file without faults, as load_config checks it."""
        task = build_task(content["task"])
        card = content.get("card")
        plain = ("checkpoint", "gates", "train", *(key for key in BUILT if key != "task"))
        return cls(
            path=path,
            task=task,
            preprocess=task.kind.rule(content["preprocess"]),
            export=ExportSection.from_dict(content.get("export", {})),
            card=None if card is None else CardSection(**card),
            content=content,
            **{key: content[key] for key in plain if key in content},
        )
