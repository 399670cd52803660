"""Several right answers: what PyTorch gives where it chooses otherwise between candidates that rounding ties."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from numpy.typing import NDArray

from zoo.comparison import Borderline, Findings

Arrays = Mapping[str, NDArray[Any]]
Answer = TypeVar("Answer")
TIED = "a choice between candidates of equal score"


@dataclass(frozen=True)
class OtherChoice:
    """What the unpatched model gives for the image number ``image`` of a batch, [1, ...] each, and the reason."""

    image: int
    reason: str
    outputs: Arrays


def of_image(outputs: Arrays, image: int) -> dict[str, NDArray[Any]]:
    """One image of a batch, as a batch of one."""
    return {name: array[image : image + 1] for name, array in outputs.items()}


def compare_by_image(
    compare: Callable[[Arrays, Arrays], Findings],
    reference: Arrays,
    candidate: Arrays,
    others: Sequence[OtherChoice],
) -> Findings:
    """A batch, image by image: each is compared with PyTorch's own answer, then with its other ones."""
    total = Findings(blank=True)
    for image in range(len(next(iter(reference.values())))):
        answers = [(other.reason, other.outputs) for other in others if other.image == image]
        total += _compare_image(compare, of_image(reference, image), of_image(candidate, image), answers)
    return total


def _compare_image(
    compare: Callable[[Arrays, Arrays], Findings],
    reference: Arrays,
    candidate: Arrays,
    answers: Sequence[tuple[str, Arrays]],
) -> Findings:
    def against(answer: Arrays) -> Findings:
        return compare(answer, candidate)

    return first_right(against, reference, answers)


def first_right(compare: Callable[[Answer], Findings], own: Answer, others: Iterable[tuple[str, Answer]]) -> Findings:
    """The comparison with PyTorch's ``own`` answer, or where that fails with the first of the ``others`` that does not.

    The reason of that one is borderline.
    """
    expected = compare(own)
    if expected.failures:
        for reason, answer in others:
            findings = compare(answer)
            if not findings.failures:
                return replace(findings, borderline=(*findings.borderline, Borderline(TIED, reason)))
    return expected
