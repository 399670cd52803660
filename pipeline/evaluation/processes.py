"""One evaluation by several processes, as torchrun starts them; a single process passes through unchanged."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
from mmengine.dist import broadcast_object_list, is_main_process
from torch import distributed

from backends.threads import default_threads
from pipeline.base.device import check_torch_device
from zoo.errors import InputError, ZooportError

PATIENCE = timedelta(days=7)
"""For the first process, which may build an engine while the others wait. torchrun ends them if one dies."""

Value = TypeVar("Value")


@contextmanager
def processes(launcher: str, device: str) -> Iterator[str]:
    """Join the other processes of a ``torchrun``: gloo on CPUs, nccl on GPUs; the device of this process.

    mmengine's own init_dist asks for a CUDA device even with gloo, so the group is made here, and mmengine finds it.
    Raises InputError where torchrun did not start this process.
    """
    if launcher == "none":
        if "TORCHELASTIC_RUN_ID" in os.environ and os.environ.get("WORLD_SIZE", "1") != "1":
            raise InputError("started by torchrun, but without --launcher pytorch; add it")
        check_torch_device(device)
        yield device
        return
    missing = [
        name
        for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR")
        if name not in os.environ
    ]
    if missing:
        raise InputError(
            f"--launcher pytorch: {', '.join(missing)} not set; start it as "
            "torchrun --nproc-per-node=2 -m zooport evaluate CONFIG --launcher pytorch"
        )
    on_gpu = device.startswith("cuda")
    if on_gpu:
        if device != "cuda":
            raise InputError(f"--device {device}: torchrun gives each process a device of its own; give --device cuda")
        device = f"cuda:{os.environ['LOCAL_RANK']}"
        check_torch_device(device)
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if on_gpu else "gloo", timeout=PATIENCE)
    try:
        yield device
    except RuntimeError as error:
        if not isinstance(error, distributed.DistError) and "gloo" not in str(error):
            raise
        raise ZooportError("another process has stopped; its own message says why") from error
    finally:
        distributed.destroy_process_group()


def threads_each(threads: int | None) -> int | None:
    """The CPU threads of one of several processes on this machine: an even share of ``threads``, None for all CPUs.

    PyTorch's own number is that of OMP_NUM_THREADS, which torchrun sets.
    """
    if not distributed.is_initialized():
        return threads
    return max(1, (threads or default_threads()) // int(os.environ["LOCAL_WORLD_SIZE"]))


def is_first() -> bool:
    """Whether this process is the only one, or the one that reports."""
    first: bool = is_main_process()
    return first


def by_the_first(work: Callable[[], Value]) -> Value:
    """Let the first process do some work, and give its value to all; a user's error of it is raised in all."""
    outcome: list[Any] = [None, None]
    if is_first():
        try:
            outcome = [work(), None]
        except (ZooportError, OSError) as error:
            if distributed.is_initialized():
                broadcast_object_list([None, (getattr(error, "exit_code", InputError.exit_code), str(error))])
            raise
    broadcast_object_list(outcome)
    value, fault = outcome
    if fault is not None:
        stopped = ZooportError(f"the first process stopped: {fault[1]}")
        stopped.exit_code = fault[0]
        raise stopped
    result: Value = value
    return result
