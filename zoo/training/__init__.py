"""Training of the shipped models through mmengine's Runner. Needs mmengine, and [train] for the data."""

from zoo.training.card import publish
from zoo.training.recipe import Recipe
from zoo.training.runner import load_trained, train
from zoo.training.score import round_to_half, score

__all__ = ["Recipe", "load_trained", "publish", "round_to_half", "score", "train"]
