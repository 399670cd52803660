"""The configs of the zoo, by their files. Light: the standard library alone."""

import ast
from pathlib import Path

from zoo.shipped import CONFIGS

BEGINS = {"model", "_base_"}
"""Of these names a config assigns at least one."""


def list_models(folder: str | Path = CONFIGS) -> list[str]:
    """The paths of all deployable configs under a folder, by default those that zooport ships, sorted.

    Bases (`_base_` folders) are left out, and modules that configs import: files that define classes or functions, and
    neither a `model` nor a `_base_`.
    """
    paths = (path for path in Path(folder).rglob("*.py") if "_base_" not in path.parts)
    return sorted(str(path) for path in paths if not _is_module(path))


def _is_module(path: Path) -> bool:
    try:
        statements = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return False  # reading the config says what is wrong with it
    assigned = {
        target.id
        for statement in statements
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    defines = any(isinstance(statement, ast.ClassDef | ast.FunctionDef) for statement in statements)
    return defines and not assigned & BEGINS
