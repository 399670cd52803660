"""How a padded batch travels through torchvision's lists: as a list that says that its one entry is the whole batch.

torchvision's own methods hand lists of images, sizes and boxes on, an entry for each image. Our replacements give and
take such a list with a mark. A list without it comes from elsewhere, such as a model that calls torchvision's parts
itself, and is torchvision's to handle.
"""

from typing import Any, TypeVar

from torch import Tensor

from rewriters.torchvision_detection.sized_batch import SizedBatch
from zoo.errors import ExportError

Entry = TypeVar("Entry")
BATCH_AXES = 4  # [N, 3, H, W]


class WholeBatch(list[Entry]):
    """One entry, of all images: a tensor with a leading axis N, or an ImageSize."""


def is_whole_batch(*lists: Any) -> bool:
    """Whether all of them hold the whole batch; False where none does.

    Raises ExportError where some do: a part between two of torchvision's would have to know it.
    """
    marked = [isinstance(one, WholeBatch) for one in lists]
    if any(marked) and not all(marked):
        raise ExportError(
            "a part of the detector gives a list with an entry for each image, in a model whose batch is one tensor; "
            "declare a rewriter for that part, or give the model a list of images instead of a tensor"
        )
    return all(marked)


def as_whole_batch(images: Any, targets: Any) -> "WholeBatch[Any] | None":
    """What a detector's forward takes, as a WholeBatch: float32 [N, 3, H, W] or a SizedBatch. None for anything else,
    such as a list of images, or targets.
    """
    batched = isinstance(images, SizedBatch) or (isinstance(images, Tensor) and images.dim() == BATCH_AXES)
    return WholeBatch([images]) if batched and targets is None else None
