"""The rewriters of the families of models: imported when one of their models is exported, or by name."""

import logging
from functools import cache
from importlib import import_module

from torch import nn

from zoo.errors import ExportError
from zoo.families import Family, families, family_of
from zoo.own_code import reason_of

LOGGER = logging.getLogger(__name__)


def import_rewriters(module: nn.Module) -> None:
    """Import what the families of a module and of its parts name as their rewriters.

    Raises ExportError for a package that cannot be imported.
    """
    for family in dict.fromkeys(family_of(part) for part in module.modules()):
        _import(family)


def import_all_rewriters() -> None:
    """Import those of all registered families, but for those whose library is not installed, or does not import.

    The latter are logged: none of such a family's models can be here. Raises ExportError for a package that is not
    there.
    """
    for family in {family.rewriters: family for family in families()}.values():
        try:
            _import(family)
        except ExportError as error:
            cause = error.__cause__
            missing = (cause.name or "") if isinstance(cause, ModuleNotFoundError) else ""
            if missing.partition(".")[0] == str(family.rewriters).partition(".")[0]:
                raise
            if not missing or "." in missing:  # a library that is not installed is missing as a whole
                _warn(str(error))


@cache
def _warn(line: str) -> None:
    """Once for each line: a command may ask for all rewriters several times."""
    LOGGER.warning("%s; its rewriters are left out", line)


def _import(family: Family) -> None:
    if family.rewriters is None:
        return
    try:
        import_module(family.rewriters)
    except Exception as error:
        raise ExportError(
            f'family {type(family).__name__}: its rewriters "{family.rewriters}" cannot be imported: '
            f"{reason_of(error)}{_versions(family)}; install the package, in a version that zooport's extra takes, or "
            "correct the name in the family"
        ) from error


def _versions(family: Family) -> str:
    """Of the libraries of all families with the same rewriters, as far as they are installed."""
    same = [other for other in families() if other.rewriters == family.rewriters]
    versions = {name: number for other in same for name, number in other.libraries().items()}
    return f" (installed: {', '.join(map(' '.join, versions.items()))})" if versions else ""
