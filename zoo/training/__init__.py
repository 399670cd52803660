"""Training of the shipped models through mmengine's Runner. Needs mmengine, and [train] for the data."""

from zoo.training.checkpoint_card import CheckpointCard, Reproduction, rounded
from zoo.training.checkpoint_page import checkpoint_page
from zoo.training.curves import write_curves
from zoo.training.publishing import check_publishable, half_precision_file, new_card, publish
from zoo.training.recipe import Recipe
from zoo.training.reproduction import check_figures, check_whole, reproduction
from zoo.training.runner import train
from zoo.training.score import main_metric, round_to_half, score, score_all
from zoo.training.trained import last_checkpoint, load_trained, read_run
from zoo.training.training_run import TrainingRun

__all__ = [
    "CheckpointCard",
    "Recipe",
    "Reproduction",
    "TrainingRun",
    "check_figures",
    "check_publishable",
    "check_whole",
    "checkpoint_page",
    "half_precision_file",
    "last_checkpoint",
    "load_trained",
    "main_metric",
    "new_card",
    "publish",
    "read_run",
    "reproduction",
    "round_to_half",
    "rounded",
    "score",
    "score_all",
    "train",
    "write_curves",
]
