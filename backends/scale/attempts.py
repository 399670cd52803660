"""How often work has ended its actor: what ends it every time is refused, and not repeated without end."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from backends.scale.refusal import Refusal
from backends.scale.storage import USE
from zoo.errors import BackendUnavailableError, InputError

MAX_ATTEMPTS = 4
"""Attempts at a block, or at a start of an actor, that may end the actor: as many as Spark makes of a task."""
CAUSE = f"its actor ended {MAX_ATTEMPTS} times, in a crash or for lack of memory"
MEMORY = "give fewer --workers, which leaves more memory for each"

Batch = Mapping[str, Any]


class Attempts:
    """An actor of a run, which takes no CPU: the attempts at each piece of work, by its name, that have not ended."""

    def __init__(self) -> None:
        self._begun: Counter[str] = Counter()

    def begin(self, name: str) -> int:
        """How many attempts before this one have not ended, because their actor did."""
        self._begun[name] += 1
        return self._begun[name] - 1

    def end(self, name: str) -> None:
        """Forget them."""
        self._begun.pop(name, None)


class BoundedWorker:
    """`worker(*arguments)` on its actor, for batches of one row, whose `name` is unique in the run.

    Ray starts an actor that dies again, and repeats its batches, as often as it takes. What has ended its actor
    MAX_ATTEMPTS times is not tried again: the batch comes back as a refusal. `attempts`: the handle of Attempts.
    """

    def __init__(self, attempts: Any, worker: type, arguments: Sequence[Any]) -> None:
        import ray

        self._get, self._attempts = ray.get, attempts
        self._worker: Any = None
        actor = str(ray.get_runtime_context().get_actor_id())  # the same when it is started again
        if self._may_try(actor):
            self._worker = worker(*arguments)
            self._ended(actor)

    def __call__(self, batch: Batch) -> Batch:
        """What the worker gives for it; or a row with only `refused`, see Refusal."""
        if self._worker is None:
            cure = f"load it on that machine without {USE}, or {MEMORY}"
            return _refused(BackendUnavailableError(f"{USE}: the model does not load: {CAUSE}; {cure}"))
        (name,) = batch["name"]
        if not self._may_try(name):
            cure = f"find the image without {USE}, and replace or remove it, or {MEMORY}"
            return _refused(InputError(f"{name}: {CAUSE}; {cure}"))
        done: Batch = self._worker(batch)
        self._ended(name)
        return done

    def _may_try(self, name: str) -> bool:
        return bool(self._get(self._attempts.begin.remote(name)) < MAX_ATTEMPTS)

    def _ended(self, name: str) -> None:
        self._get(self._attempts.end.remote(name))


def attempts_of(ray: Any) -> Any:
    """The handle of a new Attempts. On a machine that is lost, it starts again on another one, and counts anew."""
    return ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(Attempts).remote()


def _refused(error: InputError | BackendUnavailableError) -> Batch:
    return {"refused": [Refusal(error).to_json()]}
