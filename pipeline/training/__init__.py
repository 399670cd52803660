"""Training of the shipped models through mmengine's Runner. Needs mmengine, and [train] for the data."""

from pipeline.training.checkpoint_card import CheckpointCard, Reproduction, rounded
from pipeline.training.checkpoint_page import UNTOLD, checkpoint_page
from pipeline.training.curves import write_curves
from pipeline.training.half_precision import half_precision_file, round_to_half
from pipeline.training.publishing import check_publishable, new_card, publish
from pipeline.training.recipe import Pretraining, Recipe
from pipeline.training.reproduction import check_figures, check_proof, check_recipe, check_unchanged, reproduction
from pipeline.training.runner import train
from pipeline.training.score import score, score_all, scored_on
from pipeline.training.trained import last_checkpoint, load_trained, read_run
from pipeline.training.training_run import TrainingRun, config_name

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
