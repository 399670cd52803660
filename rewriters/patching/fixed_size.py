"""Whether a target's height and width are fixed, and refusing those that are not, for rewriters that need it."""

from rewriters.patching.rewriting import active_target
from zoo.families import needs_one_size


def has_fixed_size() -> bool:
    """Whether every image has the target's one height and width."""
    return active_target().one_size


def require_fixed_size(what: str) -> None:
    """Raises ExportError where the images' height or width vary: the graph would freeze the traced size."""
    if not has_fixed_size():
        raise needs_one_size(what, active_target())
