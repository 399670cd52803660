"""Several runners of one model, for a backend whose runners take one call at a time."""

from collections.abc import Mapping, Sequence
from queue import SimpleQueue

from backends.runner import Array, Runner


class RunnerGroup(Runner):
    """Threads may share it: each call has one of the `runners` to itself, and waits while none is idle."""

    def __init__(self, runners: Sequence[Runner]) -> None:
        first = runners[0]
        defaults = {name: array.item() for name, array in first.defaults.items()}
        super().__init__(first.inputs, first.outputs, first.axes, defaults)
        self._count = len(runners)
        self._idle: SimpleQueue[Runner] = SimpleQueue()
        for runner in runners:
            self._idle.put(runner)

    def _run(self, arrays: Mapping[str, Array]) -> Sequence[Array]:
        runner = self._idle.get()
        try:
            outputs = runner.run(arrays)
        finally:
            self._idle.put(runner)
        return [outputs[spec.name] for spec in self.outputs]

    def _release(self) -> None:
        """Close each of them when its call has ended; a call that waits for one finds it closed."""
        runners = [self._idle.get() for _ in range(self._count)]
        for runner in runners:
            runner.close()
            self._idle.put(runner)
