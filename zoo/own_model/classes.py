"""The classes of a config's task."""

from collections.abc import Sequence
from typing import Any

from zoo.errors import InputError
from zoo.preprocess.rule_faults import is_int

BACKGROUND = "background"
FLAG = "--classes"
UNNAMED = "The checkpoint does not name its classes. Write their names; the index is the model's own id."


def check_count(count: object) -> None:
    """Raises InputError for what is no number of classes."""
    if not is_int(count, 1):
        raise InputError(
            f"num_classes is {count!r}, expected an integer, 1 or more; give --arg num_classes=NUMBER, or correct "
            "the config.json of the folder"
        )


def check_several(count: object, what: str) -> None:
    """Raises InputError for a model of one output, which a sigmoid and a threshold decide."""
    check_count(count)
    if count == 1:
        raise InputError(f"{what} has one output, which a threshold decides; zooport takes the best of several classes")


def class_entries(
    names: Sequence[str], count: int, what: str, *, background: bool = False, source: str = FLAG
) -> list[dict[str, Any]]:
    """`count` classes of these names, or of made-up ones; for messages, `what` has so many, and `source` the names.

    `background`: the first is what no annotation names, and may be left out of the names. Raises InputError where the
    number of names is another one, or a name is empty or there twice.
    """
    check_count(count)
    give = "give" if source == FLAG else f"with {FLAG} give"
    chosen = list(names) or ([BACKGROUND] if background else [])
    if not names:
        chosen += [f"class_{index}" for index in range(len(chosen), count)]
    elif background and len(chosen) == count - 1:
        chosen.insert(0, BACKGROUND)
    if len(chosen) != count:
        also = f", or {count - 1} without the background, which is the first" if background else ""
        raise InputError(
            f"{source}: got {len(names)} names, but {what} has {count} classes; {give} {count} names{also}"
        )
    if "" in chosen:
        raise InputError(f"{source}: name {chosen.index('') + 1} is empty; {give} each class a name")
    if twice := sorted({name for name in chosen if chosen.count(name) > 1}):
        raise InputError(f'{source}: "{twice[0]}" appears twice; {give} each class a name of its own')
    return [
        {"name": name, "category_id": None if background and index == 0 else index} for index, name in enumerate(chosen)
    ]
