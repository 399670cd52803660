"""Finding modules that a rewriter would silently miss, because their class overrides what it patches."""

from collections.abc import Sequence

from torch import nn

from rewriters.engine.rewriter import Rewriter
from zoo.errors import ExportError


def check_overrides(module: nn.Module, rewriters: Sequence[Rewriter]) -> None:
    """Raises ExportError where a submodule, or its class, overrides a method that a rewriter patches.

    A rewriter declared for the subclass itself makes the override welcome.
    """
    declared = {(rewriter.target, rewriter.attribute) for rewriter in rewriters}
    for path, submodule in module.named_modules():
        for rewriter in rewriters:
            if not isinstance(rewriter.target, type) or not isinstance(submodule, rewriter.target):
                continue
            for method in (rewriter.attribute, *rewriter.bypasses):
                owner = _owner(submodule, method)
                if owner is None or owner in rewriter.target.__mro__ or (owner, method) in declared:
                    continue
                raise ExportError(
                    f"{path or 'the model'}: {owner.__qualname__} overrides {rewriter.target.__qualname__}.{method}, "
                    f"which the rewriter {rewriter.name} replaces, so the exported graph would not be this model; "
                    f"declare a rewriter for {owner.__qualname__} (@rewrites({owner.__qualname__}, "
                    f'"{rewriter.attribute}", ...))'
                )


def _owner(module: object, method: str) -> type | None:
    """The class that gives an instance this method; the instance's own class where the instance itself holds it."""
    if method in vars(module):
        return type("instance attribute", (), {"__qualname__": f"{type(module).__qualname__} (on the instance)"})
    return next((cls for cls in type(module).__mro__ if method in vars(cls)), None)
