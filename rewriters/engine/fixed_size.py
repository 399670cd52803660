"""Refusing targets whose height or width may vary, for rewriters that need them fixed."""

from rewriters.engine.rewriting import active_target
from zoo.errors import ExportError


def require_fixed_size(what: str) -> None:
    """Raises ExportError where the target's height or width is dynamic: the graph would freeze the traced size."""
    target = active_target()
    dynamic = [axis for axis in ("height", "width") if axis in target.dynamic_axes]
    if dynamic:
        raise ExportError(
            f"{what} needs a fixed height and width, and the target has a dynamic {' and '.join(dynamic)}: the graph "
            "would keep the traced size and be silently wrong at any other; leave out --dynamic "
            f"{' --dynamic '.join(dynamic)} and let the preprocessing resize to one size, or deploy once for each size"
        )
