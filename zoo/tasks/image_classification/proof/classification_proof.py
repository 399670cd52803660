"""How a deployment of a classifier is proved: score by score, and the order of the best classes."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from torch import Tensor, nn

from zoo.comparison import Findings, shape_problem
from zoo.comparison.decision_rule import DecisionRule
from zoo.input_kinds.image.reference_input import ReferenceInput
from zoo.tasks.highlight import faded
from zoo.tasks.image_classification.proof.bars import draw_bars
from zoo.tasks.image_classification.proof.compared_scores import compare_scores
from zoo.tasks.image_classification.proof.contracts import ClassificationDecoded, ClassificationFinal
from zoo.tasks.image_classification.result import TOP, ClassificationResult
from zoo.tasks.image_classification.task import readable
from zoo.tasks.proof import FULL_AGREEMENT, Array, Arrays, Compared, Difference, EagerResult, Gates, Rounding, TaskProof
from zoo.tasks.result import Result
from zoo.tasks.scatter import Point, Scatter

SCORES = "scores"
LOGITS_DIMS = 2


class ClassificationProof(TaskProof):
    """Of the scores of all classes."""

    model_output: ClassVar[str] = "a tensor [N, C]"
    contracts: ClassVar[Mapping[str, Any]] = {
        "final": ClassificationFinal,
        "decoded": ClassificationDecoded,
    }

    def is_model_output(self, output: object) -> bool:
        """Logits."""
        return isinstance(output, Tensor) and output.ndim == LOGITS_DIMS

    def eager_result(
        self,
        model: nn.Module,
        forward: Mapping[str, Any],
        image: Tensor,
        placed: ReferenceInput,
    ) -> tuple[Result, None]:
        """The softmax of the model's logits."""
        return ClassificationResult.of(model(image[None], **forward)[0].softmax(dim=0).numpy()), None

    def compare_outputs(
        self,
        level: str,
        reference: Arrays,
        candidate: Arrays,
        gates: Gates,
        rule: DecisionRule,
        logits: Array | None = None,
    ) -> Findings:
        """Scores image by image; logits as one tensor."""
        if level != "final":
            return super().compare_outputs(level, reference, candidate, gates, rule, logits)
        ours, theirs = reference[SCORES], candidate[SCORES]
        if problem := shape_problem(SCORES, ours, theirs):
            return Findings.broken((problem,))
        total = Findings(blank=True)
        for one, other in zip(ours, theirs, strict=True):
            total += compare_scores(one, other, gates[SCORES])
        return total

    def compare(
        self,
        expected: EagerResult,
        placed: ReferenceInput,
        result: Any,
        gates: Gates,
        rule: DecisionRule,
        rounding: Rounding | None = None,
    ) -> Findings:
        """A score may be off by as many times what ``rounding`` moves any score in PyTorch as the gate "moved" says."""
        reference: Any = expected.result
        if problem := shape_problem(SCORES, reference.scores, result.scores):
            return Findings.broken((problem,))
        ours, explained = reference.by_id(), 0.0
        if rounding is not None:
            others: Any = rounding.results
            explained = gates["moved"] * max(float(np.abs(ours - other.by_id()).max()) for other in others)
        return compare_scores(ours, result.by_id(), gates[SCORES], explained)

    def difference(self, image: Array, reference: Any, candidate: Any, gates: Gates) -> Difference:
        """Both sides' scores of the classes that are among the best of either."""
        ours, theirs = reference.by_id(), candidate.by_id()
        labels = list(dict.fromkeys([*reference.labels[:TOP].tolist(), *candidate.labels[:TOP].tolist()]))
        rows = [(self.task.class_name(label), float(ours[label]), float(theirs[label])) for label in labels]
        names = [self.task.class_name(int(side.labels[0])) for side in (reference, candidate)]
        best = f"both find {names[0]}" if names[0] == names[1] else f"PyTorch finds {names[0]}, the backend {names[1]}"
        words = f"{best}; scores differ by {float(np.abs(ours - theirs).max()):.3g} at most"
        return Difference(draw_bars(faded(readable(image)), rows), words)

    def scatter(self, pairs: Sequence[Compared], gates: Gates) -> Scatter:
        """The scores of the classes that are among the best of either side."""
        points, same = [], 0
        for pair in pairs:
            reference: Any = pair.reference.result
            ours, theirs = reference.by_id(), pair.candidate.by_id()
            tops = [np.argsort(-side, kind="stable")[:TOP] for side in (ours, theirs)]
            same += int(tops[0][0] == tops[1][0])
            points += [
                Point(pair.name, self.task.class_name(label), float(ours[label]), float(theirs[label]))
                for label in np.union1d(*tops).tolist()
            ]
        words = f"The {TOP} best classes of either side; in {same} of {len(pairs)} images the best one is the same"
        return Scatter("score", words, tuple(points), "Scores")

    def agreement(self, expected: Sequence[Any], candidates: Sequence[Any]) -> float:
        """The part of the probabilities that both give to the same class."""
        shared = [
            float(np.minimum(one.by_id(), other.by_id()).sum()) for one, other in zip(expected, candidates, strict=True)
        ]
        return FULL_AGREEMENT * float(np.mean(shared))
