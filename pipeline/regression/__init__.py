"""Deploy, parity and evaluation for models x backends x precisions x exporters, each cell in processes of its own."""

from pipeline.regression.matrix import load_matrix
from pipeline.regression.result import Regression
from pipeline.regression.running import run_matrix

__all__ = ["Regression", "load_matrix", "run_matrix"]
