"""Training of the shipped models through mmengine's Runner. Needs mmengine, and [train] for the data."""

from zoo.training.checkpoint_card import CheckpointCard, Reproduction, rounded
from zoo.training.checkpoint_page import UNTOLD, checkpoint_page
from zoo.training.curves import write_curves
from zoo.training.half_precision import half_precision_file, round_to_half
from zoo.training.publishing import check_publishable, new_card, publish
from zoo.training.recipe import Pretraining, Recipe
from zoo.training.reproduction import check_figures, check_proof, check_recipe, check_unchanged, reproduction
from zoo.training.runner import train
from zoo.training.score import score, score_all, scored_on
from zoo.training.trained import last_checkpoint, load_trained, read_run
from zoo.training.training_run import TrainingRun, config_name

__all__ = [
    "UNTOLD",
    "CheckpointCard",
    "Pretraining",
    "Recipe",
    "Reproduction",
    "TrainingRun",
    "check_figures",
    "check_proof",
    "check_publishable",
    "check_recipe",
    "check_unchanged",
    "checkpoint_page",
    "config_name",
    "half_precision_file",
    "last_checkpoint",
    "load_trained",
    "new_card",
    "publish",
    "read_run",
    "reproduction",
    "round_to_half",
    "rounded",
    "score",
    "score_all",
    "scored_on",
    "train",
    "write_curves",
]
