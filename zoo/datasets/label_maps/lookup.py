"""From the pixel values of a label map to the model's own class ids."""

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zoo.datasets.class_labels import labels_by_category
from zoo.errors import InputError
from zoo.tasks import ClassInfo
from zoo.tasks.class_info import IGNORE_LABEL

VALUES = 256
SHOWN = 5


class LabelLookup:
    """A table of 256 values: a class's category_id -> its id, an ignored value -> 255; the others are unknown.

    `ignored` None: all that no class has. Raises InputError where ids or ignored values do not fit, or a class has an
    ignored value.
    """

    def __init__(self, classes: Sequence[ClassInfo], ignored: Collection[int] | None) -> None:
        if len(classes) > IGNORE_LABEL:
            raise InputError(
                f"task with {len(classes)} classes: a label map has 8 bits, expected {IGNORE_LABEL} classes at most "
                f"({IGNORE_LABEL} means ignored pixels)"
            )
        for value in ignored or ():
            if not _is_value(value):
                raise InputError(f"ignored: got {value!r}, expected values of the label maps, 0 to {VALUES - 1}")
        self._table = np.full(VALUES, IGNORE_LABEL, np.uint8)
        self._known = np.full(VALUES, ignored is None)
        self._known[list(ignored or ())] = True
        for category_id, label in labels_by_category(classes).items():
            if not 0 <= category_id < VALUES:
                raise InputError(
                    f'class "{classes[label].name}" has category_id {category_id}, expected 0 to {VALUES - 1}: a value '
                    "of the label maps"
                )
            if category_id in (ignored or ()):
                raise InputError(
                    f'class "{classes[label].name}" has category_id {category_id}, a value that this data set ignores '
                    f"({', '.join(map(str, sorted(ignored or ())))}), expected the value of the class in the label "
                    "maps; number the config's task as the label maps are, or give the class no category_id"
                )
            self._table[category_id] = label
            self._known[category_id] = True

    @property
    def takes_all(self) -> bool:
        """Whether no value is unknown."""
        return bool(self._known.all())

    def fault(self, present: NDArray[np.bool_]) -> str | None:
        """What is wrong with a label map that has the values `present`, bool [256]; None where it is good."""
        unknown = np.flatnonzero(present & ~self._known).tolist()
        if not unknown:
            return None
        shown = ", ".join(map(str, unknown[:SHOWN])) + (" ..." if len(unknown) > SHOWN else "")
        return (
            f"got values {shown}, expected the category_id of a class or an ignored value; give the class that value "
            "as its category_id in the config's task"
        )

    def __call__(self, values: NDArray[np.uint8], path: Path) -> NDArray[np.uint8]:
        """Values of the file `path` -> a label map of model ids, 255 where ignored; both uint8 [h, w].

        Raises InputError for a value that is neither a class nor ignored.
        """
        if message := self.fault(np.bincount(values.ravel(), minlength=VALUES) > 0):
            raise InputError(f"{path}: {message}")
        return self._table[values]


def _is_value(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) in range(VALUES)
