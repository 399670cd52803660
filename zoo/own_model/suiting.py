"""What a config takes from its model, once that is built: an exporter for its sizes, and what they are multiples of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import lcm
from typing import Any

PADDED = "The model takes multiples of {divisor} pixels, so sides are padded to them."
BY = "The graph of {name} by {exporter} would keep the size of one image, and the images here have several."


@dataclass(frozen=True)
class Changes:
    """`content`: keys of the config that are replaced. `notes`: why, by key. False where nothing is."""

    content: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.content)


def suited(config: Any, content: Mapping[str, Any], model: Any) -> Changes:
    """What `content`, of which `config` was read, must have for its `model`.

    Raises InputError where the model does not take the sizes of its preprocessing.
    """
    from zoo.config import config_target
    from zoo.families import checked_divisor, family_of, part_of_one_size
    from zoo.target import EXPORTERS

    changes, target = Changes(), config_target(config)
    divisor, rule = family_of(model).size_divisor(model), config.preprocess
    if rule.size is None and rule.side_multiple % divisor:
        padded = lcm(rule.size_divisor, divisor)
        changes.content["preprocess"] = {**content["preprocess"], "size_divisor": padded}
        changes.notes["preprocess"] = PADDED.format(divisor=divisor)
    else:
        checked_divisor(model, target)
    name = None if target.one_size else part_of_one_size(model, target.exporter)
    others = (exporter for exporter in EXPORTERS if part_of_one_size(model, exporter) is None)
    if name is not None and (other := next(others, None)) is not None:
        changes.content["export"] = {**content["export"], "exporter": other}
        changes.notes["export"] = BY.format(name=name, exporter=target.exporter)
    return changes
