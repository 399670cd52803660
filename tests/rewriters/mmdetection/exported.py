"""Small models of mmdetection, exported, and compared with what mmdetection itself finds."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import onnxruntime as ort
import torch
from torch import Tensor

from pipeline.parity.gates import merged_gates
from pipeline.parity.graph_parity import other_choices
from pipeline.parity.levels import compare_outputs
from pipeline.parity.other_choices import Answer, compare_by_image
from rewriters import export_onnx
from tests.small_mmdet import CLASSES, SIDES, WITH_MASKS, WITH_WHOLE_MASKS, byte_images, own_results
from zoo.comparison import Findings
from zoo.families import contract_module, family_of
from zoo.target import AxisRange, Target
from zoo.tasks import build_task
from zoo.tasks.proof import proof_of

CLASS_LIST = [{"name": str(index), "category_id": index} for index in range(CLASSES)]
TASK, BOX_MASKS, WHOLE_MASKS = (
    build_task({**section, "classes": CLASS_LIST})
    for section in (
        {"type": "Detection"},
        {"type": "InstanceSegmentation", "sampled_masks": True},
        {"type": "InstanceMasks"},
    )
)
AXES = {
    "batch": AxisRange(1, 2, 4),
    "height": AxisRange.fixed(SIDES[0]),
    "width": AxisRange.fixed(SIDES[1]),
}
DYNAMIC = {"batch": AxisRange(1, 2, 4), "height": AxisRange(64, 64, 160), "width": AxisRange(64, 96, 160)}
SIZES = [(64, 80), (49, 96), (60, 70)]  # of the images of a padded batch


def task_of(name: str) -> Any:
    if name in WITH_WHOLE_MASKS:
        return WHOLE_MASKS
    return BOX_MASKS if name in WITH_MASKS else TASK


class Exported(NamedTuple):
    contract: Any
    task: Any
    session: ort.InferenceSession

    @classmethod
    def of(cls, name: str, model: Any, target: Target, path: Path) -> Self:
        task = task_of(name)
        contract = contract_module(model, task, "final", {})
        example: dict[str, Tensor] = {"images": byte_images(2) / 255}
        if target.image_sizes:
            example["image_sizes"] = torch.tensor(SIZES[:2])
        specs = contract.outputs(task, "final")
        export_onnx(contract, target, path, example=example, output_specs=specs, other_sizes=False)
        return cls(contract, task, ort.InferenceSession(path, providers=["CPUExecutionProvider"]))

    def compared(self, images: Tensor, sizes: Sequence[tuple[int, int]] | None = None, *, least: int = 1) -> Findings:
        """Of byte images, or of their parts of these sizes, by the gates of the graph comparison.

        In each of them the model must find `least` things.
        """
        inputs = {"images": images / 255} | ({} if sizes is None else {"image_sizes": torch.tensor(sizes)})
        arrays = {name: tensor.numpy() for name, tensor in inputs.items()}
        model = self.contract.model
        rule = family_of(model).decision_rule(model)
        gates = merged_gates({}, own=self.task.own_gates)["graph"]

        def compare(answer: Answer, theirs: Mapping[str, Any]) -> Findings:
            return compare_outputs(self.task, "final", answer.outputs, theirs, gates, rule, answer.logits)

        with torch.no_grad():
            expected = self.expected(images, inputs, sizes)
            assert expected.outputs["num_dets"].min() >= least
            names = list(expected.outputs)
            outputs = dict(zip(names, self.session.run(names, arrays), strict=True))
            again = partial(self.expected, images, inputs, sizes)
            others = partial(other_choices, model, again, gates["logits"])
            return compare_by_image(compare, expected, outputs, others)

    def expected(self, images: Tensor, inputs: dict[str, Tensor], sizes: Sequence[tuple[int, int]] | None) -> Answer:
        """Boxes by mmdetection's own data preprocessor and predict; masks by the model of zooport, because mmdetection
        itself keeps less of them: test_masks.py compares both.
        """
        names = [spec.name for spec in self.contract.outputs(self.task, "final")]
        if self.task is not TASK:
            tensors = dict(zip(names, [tensor.numpy() for tensor in self.contract(*inputs.values())], strict=True))
            return Answer(tensors, proof_of(self.task).logits(self.contract.model(inputs["images"]), tensors))
        most = self.contract.num_slots
        dictionaries = [
            {"boxes": one.bboxes[:most], "scores": one.scores[:most], "labels": one.labels[:most]}
            for one in own_results(self.contract.model, images, sizes)
        ]
        return Answer(dict(zip(names, [tensor.numpy() for tensor in self.contract.tensors(dictionaries)], strict=True)))


def check(findings: Findings) -> None:
    """All gates are met, and something was compared."""
    assert not findings.failures
    assert findings.matched >= 3
    assert len(findings.borderline) <= 1
