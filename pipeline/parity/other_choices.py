"""Several right answers: what PyTorch gives where it chooses otherwise between candidates that rounding ties.

Each is a run of the model, so they are made where its own answer is not that of the backend.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, TypeVar

from numpy.typing import NDArray

from zoo.comparison import Borderline, Findings

Arrays = Mapping[str, NDArray[Any]]
AnswerT = TypeVar("AnswerT")
TIED = "a choice between candidates of equal score"


class Answer(NamedTuple):
    """What the unpatched model gives for a batch. ``logits``: see TaskProof.logits."""

    outputs: Arrays
    logits: Any = None

    def of_image(self, image: int) -> Self:
        """One image of the batch, as a batch of one."""
        logits = None if self.logits is None else self.logits[image : image + 1]
        return self._replace(outputs=of_image(self.outputs, image), logits=logits)


@dataclass(frozen=True)
class OtherChoice:
    """``run`` gives the answer for the image number ``image`` of a batch, as a batch of one."""

    image: int
    reason: str
    run: Callable[[], Answer]


def of_image(outputs: Arrays, image: int) -> dict[str, NDArray[Any]]:
    """One image of a batch, as a batch of one."""
    return {name: array[image : image + 1] for name, array in outputs.items()}


def compare_by_image(
    compare: Callable[[Answer, Arrays], Findings],
    reference: Answer,
    candidate: Arrays,
    others: Callable[[], Iterable[OtherChoice]],
) -> Findings:
    """A batch, image by image: each is compared with PyTorch's own answer, then with its other ones."""

    def compared(image: int) -> Findings:
        return first_right(
            lambda answer: compare(answer, of_image(candidate, image)),
            reference.of_image(image),
            lambda: ((other.reason, other.run) for other in others() if other.image == image),
        )

    total = Findings(blank=True)
    for image in range(len(next(iter(reference.outputs.values())))):
        total += compared(image)
    return total


def first_right(
    compare: Callable[[AnswerT], Findings],
    own: AnswerT,
    others: Callable[[], Iterable[tuple[str, Callable[[], AnswerT]]]],
) -> Findings:
    """The comparison with PyTorch's ``own`` answer, or where that fails with the first of the ``others`` that does not.

    Of these the reason, and what makes the answer. The reason of the one that does not fail is borderline.
    """
    expected = compare(own)
    if expected.failures:
        for reason, answer in others():
            findings = compare(answer())
            if not findings.failures:
                return replace(findings, borderline=(*findings.borderline, Borderline(TIED, reason)))
    return expected
