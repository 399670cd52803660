"""What a training learns from: the data of the shipped recipes, and no other yet. Known without torch."""

from zoo.config import ModelConfig
from zoo.errors import InputError

DIGITS = ("DigitsClassification", "DigitsDetection", "DigitsInstances", "DigitsKeypoints", "DigitsSegmentation")
PHOTOGRAPHS = ("PhotographCrops",)
DIGIT_CATEGORIES = frozenset(range(1, 11))  # a digit's category id is one more than the digit
NO_OBJECT = (None, 0)  # the category ids of a background


def check_recipe_data(config: ModelConfig) -> None:
    """Whether a training of this config would learn what the config's data set shows.

    It learns from generated scenes of digits or from crops of shipped photographs, whatever ``dataset`` says. Raises
    InputError where that is a data set of one's own, or the classes are not the ten digits.
    """
    if config.dataset is None:
        return  # there is nothing that could be mistaken for training data
    kind = config.dataset["type"]
    if kind not in (*DIGITS, *PHOTOGRAPHS):
        raise InputError(
            f"config {config.path}: training on dataset {kind} is not possible: tools/train.py only repeats the "
            "recipes of the shipped models, on generated digits or shipped photographs; train elsewhere and give the "
            "weights as checkpoint"
        )
    categories = {info.category_id for info in config.task.classes}
    if kind in DIGITS and categories.difference(NO_OBJECT) != DIGIT_CATEGORIES:
        raise InputError(
            f"config {config.path}: training on {len(categories.difference(NO_OBJECT))} classes of one's own is "
            "not possible: tools/train.py only repeats the recipes of the shipped models, whose classes are the ten "
            "digits, category_id 1 to 10; train elsewhere and give the weights as checkpoint"
        )
