"""The contract of a model, a task and a level."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from zoo.errors import InputError
from zoo.families.family import Family
from zoo.families.first_step import first_step
from zoo.families.registry import families, family_of
from zoo.target import DEFAULT_LAYOUT, LEVELS
from zoo.tasks import Task
from zoo.tasks.contract import Contract


def contract_module(
    model: nn.Module, task: Task, level: str, forward: Mapping[str, Any], layout: str = DEFAULT_LAYOUT, rule: Any = None
) -> Contract:
    """The model with the outputs of `level`, in eval mode. `forward`: keyword arguments of the model's forward.

    `rule`: the config's preprocessing, whose part inside the graph comes before the model; None: the model takes the
    graph's inputs as they are. At level "plugin" the outputs are the final ones: what the plugin's candidates must come
    to. Raises InputError where the model's family has no such contract, or none in this layout, and where the model
    does by itself what the rule asks for.
    """
    contract = _contract(model, task, level, forward, layout)
    if rule is not None and (step := first_step(model, task, rule)) is not None:
        contract.put_before(step)
    return contract


def _contract(model: nn.Module, task: Task, level: str, forward: Mapping[str, Any], layout: str) -> Contract:
    family, kind = family_of(model), type(model).__name__
    if layout != DEFAULT_LAYOUT:
        if layout not in family.layouts:
            raise InputError(
                f"layout {layout}: {kind} has no such layout; {who_has(lambda one: layout in one.layouts)}"
            )
        return family.layouts[layout].contract(model, forward)
    if level == "plugin" and not family.plugins:
        raise InputError(f"level plugin: {kind} has no plugin nodes; {who_has(lambda one: bool(one.plugins))}")
    contract = family.contract_type(task, level)
    if contract is not None:
        return contract.of_task(model, forward, task)
    if levels := [one for one in LEVELS if family.contract_type(task, one) is not None]:
        raise InputError(f"level {level}: {kind} has no such level for task {task.name}; it has {', '.join(levels)}")
    names = [one.name for one in families() if (task.name, "final") in one.contracts]
    raise InputError(f"model {kind}: expected {', '.join(names) or 'a model of no family'} for task {task.name}")


def who_has(wanted: Callable[[Family], bool]) -> str:
    """The families that have something, for a message: "A has", "A, B have"."""
    names = [family.name for family in families() if wanted(family)]
    return f"{', '.join(names) or 'no family'} {'have' if len(names) > 1 else 'has'}"
