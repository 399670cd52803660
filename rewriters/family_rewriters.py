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
    """Import those of all registered families, but for those that need a library that is not installed.

    None of such a family's models can be here. Raises ExportError for a package that cannot be imported.
    """
    for family in families():
        try:
            _import(family)
        except ExportError as error:
            if not _lacks_library(str(family.rewriters), error.__cause__):
                raise


def _lacks_library(rewriters: str, cause: BaseException | None) -> bool:
    """Whether the package is there, and imports another one that is not."""
    if not isinstance(cause, ModuleNotFoundError) or cause.name is None:
        return False
    return cause.name.partition(".")[0] != rewriters.partition(".")[0]


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
