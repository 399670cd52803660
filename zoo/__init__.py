"""What a model is: models, tasks, targets, data sets, metrics, checkpoints, registry.

Names load when they are used: production code reads `zoo.Target` without torch being installed.
"""

from typing import TYPE_CHECKING

from zoo.lazy_names import lazy_names

if TYPE_CHECKING:
    from zoo.build import build_model
    from zoo.listing import list_models
    from zoo.target import Target

__all__ = ["Target", "build_model", "list_models"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {"Target": "zoo.target", "build_model": "zoo.build", "list_models": "zoo.listing"},
)
