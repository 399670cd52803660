"""One cell, in the process that is its own."""

import os
import random
import warnings
from pathlib import Path

from gpu.stage import Findings, Place, named, stages


def measure_cell(stage: str, name: str, place: Place, answer: Path, workers: int) -> None:
    """Measure it; its findings are in the file `answer`. A fault outside of its steps is one as well.

    One of several beside each other has some of the CPUs: ONNX Runtime starts as many threads as it may use.
    """
    import torch

    warnings.simplefilter("ignore")
    findings, cell = Findings(answer), named(list(stages()[stage].cells(place)), name)
    if not cell.alone:
        cpus = sorted(os.sched_getaffinity(0))
        own = max(1, len(cpus) // workers)
        os.sched_setaffinity(0, random.sample(cpus, own))
        os.environ["OMP_NUM_THREADS"] = str(own)
        torch.set_num_threads(own)
    with findings.trying("the measurement"):
        cell.measure(place, findings)
