"""Finding modules that a rewriter would silently miss, because their class overrides what it patches."""

from collections.abc import Sequence

from torch import nn

from rewriters.patching.rewriter import Rewriter
from zoo.errors import ExportError


def check_overrides(module: nn.Module, rewriters: Sequence[Rewriter]) -> None:
    """Raises ExportError where a submodule, or its class, overrides a method that a rewriter patches or bypasses.

    A rewriter of the patched attribute for a class in between, or for the one that overrides, makes it welcome: it
    replaces what would have ignored the override.
    """
    for path, submodule in module.named_modules():
        for rewriter in rewriters:
            if not isinstance(rewriter.target, type) or not isinstance(submodule, rewriter.target):
                continue
            if _in_force(submodule, rewriter.attribute, rewriters) not in (None, rewriter):
                continue  # what it patches and bypasses is the business of a more derived class's rewriter
            for method in (rewriter.attribute, *rewriter.bypasses):
                owner = _owner(submodule, method)
                if owner is None or owner in rewriter.target.__mro__ or owner in rewriter.leaves:
                    continue
                raise ExportError(_refusal(path, type(submodule), owner, method, rewriter))


def _refusal(path: str, kind: type, owner: type, method: str, rewriter: Rewriter) -> str:
    """The message: `owner` gives the module, of class `kind`, a method that the rewriter's replacement ignores."""
    target, attribute = rewriter.name.rpartition(".")[0].partition(".")[2], rewriter.attribute
    verb = "replaces" if method == attribute else f"no longer calls from {attribute}"
    subclass = owner if owner in kind.__mro__ else kind
    return (
        f"{path or 'the model'}: {owner.__qualname__} overrides {target}.{method}, which the rewriter {rewriter.name} "
        f"{verb}, so the exported graph would not be this model; declare a rewriter of {attribute} for "
        f'{subclass.__qualname__} itself (@rewrites({subclass.__qualname__}, "{attribute}", ...))'
        + ("" if subclass is owner else ", and let the class, not the instance, hold the method")
    )


def _in_force(module: object, attribute: str, rewriters: Sequence[Rewriter]) -> Rewriter | None:
    """The rewriter that acts when a module's method is called: that of the class that gives it the method; None where
    no class that any rewriter is for does.
    """
    if attribute in vars(module):
        return None
    declared = {rewriter.target: rewriter for rewriter in rewriters if rewriter.attribute == attribute}
    for cls in type(module).__mro__:
        if cls in declared:  # patched there, whether the class had the method itself or inherited it
            return declared[cls]
        if attribute in vars(cls):
            return None
    return None


def _owner(module: object, method: str) -> type | None:
    """The class that gives an instance this method; the instance's own class where the instance itself holds it."""
    if method in vars(module):
        return type("instance attribute", (), {"__qualname__": f"{type(module).__qualname__} (on the instance)"})
    return next((cls for cls in type(module).__mro__ if method in vars(cls)), None)
