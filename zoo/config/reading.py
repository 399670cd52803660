"""Reading a config file as mmengine reads it, with its bases."""

import ast
from pathlib import Path

from mmengine.config import Config

from zoo.config.names import find_config
from zoo.errors import InputError


def read_config(path: str | Path) -> Config:
    """A config file with its bases, unchecked, for those who change it before they give it to ``load_config``.

    ``path``: the file, or the bare name of a shipped config. Raises InputError where the file is missing or is not
    Python.
    """
    file = find_config(path)
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))  # mmengine reads a copy, and its errors name that
        lazy = None if _reads_bases(tree) else False
        return Config.fromfile(str(file), lazy_import=lazy, import_custom_modules=False)
    except SyntaxError as error:
        where = f"line {error.lineno}" if error.lineno else "one of its bases"
        raise InputError(f"config {path}, {where}: {error.msg.splitlines()[0]}") from error
    except (Exception, SystemExit) as error:  # the file is Python: anything may be raised by it
        raise InputError(f"config {path} cannot be read: {type(error).__name__}: {error}") from error


def _reads_bases(tree: ast.Module) -> bool:
    """Whether a file is in mmengine's newer form: `with read_base(): from .base import *`, and classes as types."""
    return any(isinstance(node, ast.Name) and node.id == "read_base" for node in ast.walk(tree))
