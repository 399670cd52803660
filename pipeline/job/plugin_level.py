"""Level plugin: which level is exported, and which plugin node then takes the place of what follows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from zoo.errors import InputError, nearest
from zoo.families import families, family_of, who_has
from zoo.tasks import Task
from zoo.tensor_spec import TensorSpec


@dataclass(frozen=True)
class PluginLevel:
    """`base`: the level that is exported; `step`: the graph rewriter with its options; `outputs`: of the result.

    Axes of `outputs` as in the task's contract.
    """

    base: str
    step: Mapping[str, Any]
    outputs: tuple[TensorSpec, ...]

    @property
    def level(self) -> str:
        """Of the file: "final" where the step is asked for standard operators alone, which ONNX Runtime runs."""
        return "final" if self.step.get("form") == "onnx" else "plugin"


def check_plugin(section: Mapping[str, Any] | None) -> None:
    """Raises InputError for a config's export.plugin that is no family's."""
    known = list(dict.fromkeys(name for family in families() for name in family.plugins))
    if section is not None and section["name"] not in known:
        raise InputError(f'export.plugin: unknown plugin "{section["name"]}"; {nearest(section["name"], known)}')


def plugin_level(model: nn.Module, task: Task, section: Mapping[str, Any] | None) -> PluginLevel:
    """`section`: the config's export.plugin, dict(name=..., option=value); what it leaves out is the model's own.

    Raises InputError for an unknown plugin, or a model that has no such level.
    """
    check_plugin(section)
    family = family_of(model)
    name = section["name"] if section is not None else next(iter(family.plugins), None)
    if name not in family.plugins:
        raise InputError(
            f"level plugin: {type(model).__name__} has no plugin nodes; {who_has(lambda one: bool(one.plugins))}"
        )
    node = family.plugin(model, task, name)
    return PluginLevel(node.base, {"name": name, **node.options, **(section or {})}, node.outputs)
