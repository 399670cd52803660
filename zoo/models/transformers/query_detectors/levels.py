"""TransformersDetector at its three levels."""

from typing import Any, cast

from torch import Tensor

from zoo.contract.module_outputs import module_outputs
from zoo.errors import InputError
from zoo.models.transformers.query_detectors.transformers_detector import TransformersDetector, pixels
from zoo.tasks import Task
from zoo.tasks.contract import Contract
from zoo.tasks.detection.proof.contracts import DetectionFinal, decoded_outputs
from zoo.tensor_spec import TensorSpec


class QueryRaw(Contract):
    """-> logits float32 [N, Q, C or C + 1], pred_boxes [N, Q, 4]: the library's own outputs, by their own names."""

    raw_names: tuple[str, ...] = ("logits", "pred_boxes")

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        return self.raw(images)

    def raw(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """The whole model runs: what follows leaves no trace in a graph without it."""
        model = cast("TransformersDetector", self.model)
        with module_outputs({"outputs": model.model}) as seen:
            model(images, **self.forward_options)
        outputs: Any = seen["outputs"]
        return outputs.logits, outputs.pred_boxes


class QueryDecoded(QueryRaw):
    """-> boxes float32 [N, Q, 4] in pixels of the tensor given, scores float32 [N, Q, C], before any is chosen."""

    def outputs(self, task: Task, level: str) -> tuple[TensorSpec, ...]:  # noqa: ARG002 - this class has one level
        return decoded_outputs(task, "Q")

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        queries = cast("TransformersDetector", self.model).rule.queries(*self.raw(images))
        return queries.boxes * pixels(images), queries.scores


class QueryFinal(DetectionFinal):
    """As every detector's, for images of one size."""

    def detections(self, images: Tensor, image_sizes: Tensor | None) -> list[dict[str, Tensor]]:
        if image_sizes is not None:
            raise InputError(
                "image_sizes with a detector of transformers: it takes a batch of one size and sees the padding; leave "
                "out --image-sizes and export.inputs.image_sizes"
            )
        return super().detections(images, None)
