"""What a model is: models, tasks, targets, data sets, metrics, checkpoints, registry.

Names load when they are used: production code reads `zoo.Target` without torch being installed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoo.build import build_model
    from zoo.listing import list_models
    from zoo.target import Target

__all__ = ["Target", "build_model", "list_models"]

_HOMES = {"Target": "zoo.target", "build_model": "zoo.build", "list_models": "zoo.listing"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
