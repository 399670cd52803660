"""What a head of mmdetection gives while its whole model runs."""

from collections.abc import Callable
from typing import Any, ClassVar

from torch import Tensor

from zoo.contract.module_outputs import module_outputs


class OneStageRule:
    """Of models with one head, `bbox_head`: one box for all classes."""

    boxes_by_class: ClassVar[bool] = False

    def outputs(self, model: Any, images: Tensor, run: Callable[[], Any]) -> Any:  # noqa: ARG002 - as every rule
        """What the head's forward gives."""
        with module_outputs({"head": model.model.bbox_head}) as seen:
            run()
        return seen["head"]
