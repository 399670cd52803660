"""How a deployment is made and proved. Names load when they are used: publishing alone needs no torch."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.alignment.aligning import align
    from pipeline.deploying import deploy
    from pipeline.evaluating import evaluate

__all__ = ["align", "deploy", "evaluate"]

_HOMES = {
    "align": "pipeline.alignment.aligning",
    "deploy": "pipeline.deploying",
    "evaluate": "pipeline.evaluating",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
