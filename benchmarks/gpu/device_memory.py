"""The memory of a device that something takes, as the device's driver counts it."""

from collections.abc import Callable

import torch
from measured import growth

RUNS = 3


def growth_there(load: Callable[[], Callable[[], object]], device: str) -> int:
    """By how many bytes more of the device are in use once `load` has given a run, and this has run three times.

    It counts all that the process has, with what torch and ONNX Runtime keep for later. On a CPU: the growth of the
    process at its largest.
    """
    runs: list[Callable[[], object]] = []

    def use() -> None:
        runs.append(load())  # held, as what it has loaded is to be counted
        for _ in range(RUNS):
            runs[-1]()

    if device == "cpu":
        return growth(use)
    free, _ = torch.cuda.mem_get_info(device)
    use()
    left, _ = torch.cuda.mem_get_info(device)
    return free - left
