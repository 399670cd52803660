"""Training of the shipped models through mmengine's Runner. Needs mmengine, and [train] for the data."""

from pipeline.training.curves import write_curves
from pipeline.training.published_weights import half_precision_file, training_record
from pipeline.training.recipe import Pretraining, Recipe
from pipeline.training.reproduction import (
    check_figures,
    check_proof,
    check_recipe,
    check_unchanged,
    check_whole,
    reproduction,
)
from pipeline.training.runner import train
from pipeline.training.scoring import score, scored_on
from pipeline.training.training_run import begin_run, config_name, last_checkpoint, read_run, resume_run

__all__ = [
    "Pretraining",
    "Recipe",
    "begin_run",
    "check_figures",
    "check_proof",
    "check_recipe",
    "check_unchanged",
    "check_whole",
    "config_name",
    "half_precision_file",
    "last_checkpoint",
    "read_run",
    "reproduction",
    "resume_run",
    "score",
    "scored_on",
    "train",
    "training_record",
    "write_curves",
]
