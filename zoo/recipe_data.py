"""What a training learns from: the config's own data, or what the shipped recipes generate. Known without torch."""

from zoo.config import ModelConfig
from zoo.errors import InputError
from zoo.generated_data import DIGITS, GENERATED

DIGIT_CATEGORIES = frozenset(range(1, 11))  # a digit's category id is one more than the digit
NO_OBJECT = (None, 0)  # the category ids of a background
ELSEWHERE = "train elsewhere, and give the checkpoint"


def check_recipe_data(config: ModelConfig) -> None:
    """Whether a training of this config would learn what the config's data set shows.

    Without ``train_dataset`` it learns from generated scenes of digits or from crops of shipped photographs, whatever
    ``dataset`` says. Raises InputError where that is a data set of one's own, or the classes are not the ten digits;
    and where there is a ``train_dataset``, and nothing to validate on, or the task does not learn from one.
    """
    if config.train_dataset is not None:
        if not config.task.learns_own_data:
            raise InputError(
                f"config {config.path}: train_dataset: {config.task.name} does not support training data of your own "
                f"yet; leave it out, and {ELSEWHERE}"
            )
        missing = [key for key in ("dataset", "evaluator") if getattr(config, key) is None]
        if missing:
            raise InputError(
                f"config {config.path}: training includes validation, and there is no {' and no '.join(missing)}; "
                f"add {', '.join(f'{key}=dict(type=..., ...)' for key in missing)}"
            )
        return
    if config.dataset is None:
        return  # there is nothing that could be mistaken for training data
    kind = config.dataset["type"]
    fix = "add train_dataset=dict(type=..., ...), the data to learn from (docs/own_data.md)"
    if not config.task.learns_own_data:
        fix = f"{config.task.name} does not support a train_dataset yet, so {ELSEWHERE}"
    generated = GENERATED.get(kind)
    if generated is None or not generated.recipes:
        raise InputError(
            f"config {config.path}: training on dataset {kind} needs training data: without train_dataset only the "
            f"shipped recipes are repeated, on generated digits or shipped photographs; {fix}"
        )
    categories = {info.category_id for info in config.task.classes}
    if generated == DIGITS and categories.difference(NO_OBJECT) != DIGIT_CATEGORIES:
        raise InputError(
            f"config {config.path}: training on {len(categories.difference(NO_OBJECT))} classes of your own needs "
            "training data: without train_dataset only the shipped recipes are repeated, whose classes are the ten "
            f"digits, category_id 1 to 10; {fix}"
        )
