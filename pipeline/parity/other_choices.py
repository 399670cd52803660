"""Several right answers: what PyTorch gives where it chooses otherwise between candidates that rounding ties.

Each is a run of the model, so they are made where its own answer is not that of the backend.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from numpy.typing import NDArray

from zoo.comparison import Borderline, Findings

Arrays = Mapping[str, NDArray[Any]]
Answer = TypeVar("Answer")
TIED = "a choice between candidates of equal score"


@dataclass(frozen=True)
class OtherChoice:
    """For the image number ``image`` of a batch: ``run`` gives the unpatched model's outputs, [1, ...] each."""

    image: int
    reason: str
    run: Callable[[], Arrays]


def of_image(outputs: Arrays, image: int) -> dict[str, NDArray[Any]]:
    """One image of a batch, as a batch of one."""
    return {name: array[image : image + 1] for name, array in outputs.items()}


def compare_by_image(
    compare: Callable[[Arrays, Arrays], Findings],
    reference: Arrays,
    candidate: Arrays,
    others: Callable[[], Iterable[OtherChoice]],
) -> Findings:
    """A batch, image by image: each is compared with PyTorch's own answer, then with its other ones."""

    def compared(image: int) -> Findings:
        own: Arrays = of_image(reference, image)
        return first_right(
            lambda answer: compare(answer, of_image(candidate, image)),
            own,
            lambda: ((other.reason, other.run) for other in others() if other.image == image),
        )

    total = Findings(blank=True)
    for image in range(len(next(iter(reference.values())))):
        total += compared(image)
    return total


def first_right(
    compare: Callable[[Answer], Findings],
    own: Answer,
    others: Callable[[], Iterable[tuple[str, Callable[[], Answer]]]],
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
