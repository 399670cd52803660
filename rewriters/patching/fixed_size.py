"""Whether a target's height and width are fixed, and refusing those that are not, for rewriters that need it."""

from rewriters.patching.rewriting import active_target
from zoo.errors import ExportError


def has_fixed_size() -> bool:
    """Whether every image has the target's one height and width."""
    target = active_target()
    return not target.image_sizes and not {"height", "width"} & set(target.dynamic_axes)


def require_fixed_size(what: str) -> None:
    """Raises ExportError where the images' height or width vary: the graph would freeze the traced size."""
    if has_fixed_size():
        return
    target = active_target()
    dynamic = [axis for axis in ("height", "width") if axis in target.dynamic_axes]
    has = f"a dynamic {' and '.join(dynamic)}" if dynamic else "image_sizes, with a size for each image"
    without = f"--dynamic {' --dynamic '.join(dynamic)}" if dynamic else "image_sizes"
    raise ExportError(
        f"{what} needs a fixed height and width, and the target has {has}: the graph would keep the traced size and be "
        f"silently wrong at any other; leave out {without} and let the preprocessing resize to one size, or deploy "
        "once for each size"
    )
