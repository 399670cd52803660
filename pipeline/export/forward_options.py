"""What a config gives the model's forward, and whose fault an error is."""

import inspect
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from pipeline.job.job import Job
from zoo.errors import InputError
from zoo.tasks.proof import proof_of


@contextmanager
def forward_options(job: Job, model: nn.Module) -> Iterator[None]:
    """Options of forward that the model does not know or refuses, or that let it give something else, are the config's.

    Where the config gives none, or the model's own forward had no part in it, an error stays what it is.
    """
    proof = proof_of(job.task)
    where = f"config {job.config.path}: export.forward={job.forward}"
    try:
        inspect.signature(model.forward).bind(None, **job.forward)
    except TypeError as error:
        raise InputError(f"{where}: {type(model).__name__}.forward {error}; correct export.forward") from error

    def check(_module: nn.Module, _args: object, output: object) -> None:
        if proof.is_model_output(output):
            return
        got = f"a tensor {list(output.shape)}" if isinstance(output, Tensor) else f"a {type(output).__name__}"
        raise InputError(
            f"{where}: {type(model).__name__}.forward gave {got}, expected {proof.model_output}; correct export.forward"
        )

    hook = model.register_forward_hook(check) if job.forward else None
    try:
        yield
    except (TypeError, ValueError, LookupError, AttributeError, AssertionError, NotImplementedError) as error:
        codes = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
        if not job.forward or type(model).forward.__code__ not in codes:
            raise
        reason = next(iter(str(error).splitlines()), "")
        raise InputError(
            f"{where}: {type(model).__name__}.forward refuses it ({type(error).__name__}: {reason}); "
            "correct export.forward"
        ) from error
    finally:
        if hook is not None:
            hook.remove()
