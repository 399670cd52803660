"""The files that a config starts from, by its source alone: what mmengine merges, before it is merged."""

import ast
from pathlib import Path


def bases(path: Path) -> list[Path]:
    """The files that a config names as `_base_`, in order; none where that is computed, and mmengine finds them."""
    try:
        names = ast.literal_eval(assigned(path).get("_base_", ast.Tuple([])))
    except ValueError:
        return []
    return [path.parent / name for name in ([names] if isinstance(names, str) else names) if isinstance(name, str)]


def with_bases(path: Path) -> list[Path]:
    """A config's bases, and theirs, in the order in which they are read; the config itself comes last."""
    return [*(file for base in bases(path) for file in with_bases(base)), path]


def assigned(path: Path) -> dict[str, ast.expr]:
    """What a file assigns to names; nothing where it cannot be read."""
    try:
        statements = ast.parse(path.read_text(encoding="utf-8")).body
    except (OSError, SyntaxError, UnicodeDecodeError):
        return {}  # a config that was never a file, or a base that mmengine finds elsewhere
    return {
        target.id: statement.value
        for statement in statements
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
