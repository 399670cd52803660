"""The rewriters of the families of models: imported when one of their models is exported, or by name."""

from importlib import import_module

from torch import nn

from zoo.errors import ExportError
from zoo.families import Family, families, family_of


def import_rewriters(module: nn.Module) -> None:
    """Import what the families of a module and of its parts name as their rewriters.

    Raises ExportError for a package that cannot be imported.
    """
    for family in dict.fromkeys(family_of(part) for part in module.modules()):
        _import(family)


def import_all_rewriters() -> None:
    """Import those of all registered families. Raises ExportError for a package that cannot be imported."""
    for family in families():
        _import(family)


def _import(family: Family) -> None:
    if family.rewriters is None:
        return
    try:
        import_module(family.rewriters)
    except ImportError as error:
        raise ExportError(
            f'family {type(family).__name__}: its rewriters "{family.rewriters}" cannot be imported: {error}; '
            "install the package, or correct the name in the family"
        ) from error
