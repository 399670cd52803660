"""Code of one's own beside a config: modules that it imports, and types that it names with their module."""

import logging
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from zoo.custom_sources import PACKAGES, reached
from zoo.downloads import IMPORTED, DownloadRefusedError, refused_downloads
from zoo.errors import InputError, nearest
from zoo.own_code import reason_of

LOG = logging.getLogger(__name__)
_searched: set[Path] = set()
"""The folders of the configs that this process has read."""


def import_custom_module(name: str, folder: Path, *, allow_failed: bool = False) -> None:
    """Import a module by name; what lies in ``folder``, the config's, is found from now on in this process.

    ``folder`` is searched last, so that a file in it hides no installed package. ``allow_failed``: a module that
    cannot be imported is logged and left out. Raises InputError for one that cannot be imported.
    """
    search(folder)
    try:
        imported_module(name, folder)
    except InputError as error:
        if not allow_failed:
            raise InputError(f'custom_imports "{name}": {error}') from error
        LOG.warning('custom_imports "%s" is left out: %s', name, error)


def search(folder: Path) -> None:
    """Modules in the folder are found from now on in this process, after all others."""
    _searched.add(folder.resolve())
    if (path := str(folder.resolve())) not in sys.path:
        sys.path.append(path)


def imported_module(name: str, folder: Path) -> ModuleType:
    """The module. Raises InputError with the reason, and how to fix it, where it or what it imports fails.

    Also where it fails because it asks the network for something.
    """
    try:
        with refused_downloads(f"module {name}", IMPORTED):
            module = import_module(name)
    except DownloadRefusedError:
        raise
    except ImportError as error:
        missing = (error.name or name).partition(".")[0]
        _check_not_hidden(missing, folder)
        fix = "correct the module" if missing in sys.modules else f"put {missing}.py into {folder}, or install it"
        raise InputError(f"cannot be imported ({reason_of(error)}); {fix}") from error
    except (Exception, SystemExit) as error:  # a module of the user's own may raise anything
        raise InputError(f"cannot be imported ({reason_of(error)}); correct the module") from error
    _check_not_hidden(name, folder)
    for neighbour in reached([name], folder):
        if _is_of_another_config(neighbour, folder):
            _check_not_hidden(neighbour, folder)
    return module


def _check_not_hidden(name: str, folder: Path) -> None:
    """Raises InputError where the folder has a module of this name, and Python has found another one."""
    top = name.partition(".")[0]
    files = [folder / f"{top}.py", folder / top / "__init__.py"]
    beside = next((file for file in files if file.is_file()), None)
    loaded = sys.modules.get(top)
    if beside is None or loaded is None:
        return
    place = getattr(loaded, "__file__", None)
    if place is not None and any(file.is_file() and file.samefile(place) for file in files):
        return
    what = "zooport's own package" if top in PACKAGES else "another module"
    one_by_one = (
        ", or read the configs of the two folders in two processes" if _is_of_another_config(top, folder) else ""
    )
    raise InputError(
        f"{what} of this name, {place or 'built into Python'}, hides {beside}; rename {beside.name}{one_by_one}"
    )


def _is_of_another_config(top: str, folder: Path) -> bool:
    """Whether the module of this name lies beside another config, and not in ``folder``."""
    place = getattr(sys.modules.get(top), "__file__", None)
    if place is None:
        return False
    beside = Path(place).resolve().parent
    return not {beside, beside.parent}.isdisjoint(_searched - {folder.resolve()})


def dotted_types(where: str, section: object) -> Iterator[tuple[str, str]]:
    """Every ``type`` in a section that names a module, too, and where it is: ("model.type", "my_file.MyNet")."""
    if isinstance(section, Mapping):
        kind = section.get("type")
        if isinstance(kind, str) and "." in kind and all(part.isidentifier() for part in kind.split(".")):
            yield f"{where}.type", kind
        for key, value in section.items():
            yield from dotted_types(f"{where}.{key}", value)
    elif isinstance(section, list | tuple):
        for index, value in enumerate(section):
            yield from dotted_types(f"{where}[{index}]", value)


def check_dotted_type(kind: str, folder: Path) -> None:
    """Import the module of a type such as "my_file.MyNet", in ``folder`` or installed.

    A type that is registered in a scope of mmengine ("mmdet.RetinaHead") is left to its registry. Raises InputError
    where the module cannot be imported, or has no such name.
    """
    search(folder)
    name, _, attribute = kind.rpartition(".")
    module: Any = imported_module(name, folder)
    if not (hasattr(module, attribute) or _is_scope(module)):
        known = [key for key in vars(module) if not key.startswith("_")]
        place = getattr(module, "__file__", None) or "built into Python"
        raise InputError(f'module {name} ({place}) has no "{attribute}"; {nearest(attribute, known)}')


def _is_scope(module: ModuleType) -> bool:
    """Whether mmengine finds a registry here: in a package at the top, with a module `registry`."""
    is_top_package = hasattr(module, "__path__") and "." not in module.__name__
    return is_top_package and find_spec(f"{module.__name__}.registry") is not None


def class_of(kind: str) -> Any:
    """What a dotted type names, None where there is no such module or name."""
    name, _, attribute = kind.rpartition(".")
    try:
        return getattr(import_module(name), attribute, None) if name else None
    except ImportError:
        return None
