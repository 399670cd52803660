"""A run of `zooport predict`: the model, its sources, and what is written of them."""

import argparse
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from itertools import islice
from types import TracebackType
from typing import Any, Literal, Self

from backends import load
from backends.registry import get_backend
from backends.serving.address import is_address
from backends.serving.remote_model import RemoteModel
from backends.streaming import Prediction
from backends.streams import Streams
from backends.threads import default_threads
from zoo.errors import SomeInputsFailedError
from zoo.manifest import Manifest
from zoo.progress import Progress
from zoo.sources import Item, Source, find_sources, list_items
from zoo.tables.output import Output
from zoo.tasks import Result
from zooport.prediction_options import (
    FILES,
    check_options,
    check_sources,
    check_task,
    formats_of,
    graph_inputs,
    settings_of,
    tables_of,
)

PREDICT = "predict"  # what the bar counts


class PredictionSession:
    """A context manager. Everything that can be known to be wrong is, before the model is loaded.

    ``failures``: one line for each input that failed. ``count``: called with how far it is; to be set.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        check_options(options)
        self.options = options
        self.inputs = graph_inputs(options.input)
        self.count: Progress = lambda *_: None
        self.failures: list[str] = []
        self.done = 0
        self.finished = False
        self._current = ""
        self.output: Output | None = None
        with ExitStack() as opened:
            self._open(opened)
            self._opened = opened.pop_all()

    def _open(self, opened: ExitStack) -> None:
        options = self.options
        remote = None
        if is_address(options.deployment):
            remote = opened.enter_context(RemoteModel(options.deployment, options.workers))
        manifest = Manifest.read(options.deployment) if remote is None else remote.manifest
        manifest.check_results(options.deployment)
        task = manifest.build_task()
        check_task(options, task)
        self.plural = task.kind.plural
        self.sources = find_sources([*options.image, *options.source], task.kind, recursive=options.recursive)
        tables = tables_of(options, task, self.sources)
        if options.out is not None:
            check_sources(options, task, self.sources, tables)
            identity = {name: record["sha256"] for name, record in manifest.files.items()}
            self.output = opened.enter_context(
                Output(
                    options.out,
                    task,
                    tables,
                    settings_of(options, identity, live=self.live),
                    files=FILES in formats_of(options),
                    draw=options.draw,
                    resume=options.resume,
                    lists_frames=options.json is not None,
                )
            )
        workers = options.workers or (None if remote else self._usual_workers(manifest))
        self.counts_windows = manifest.windows is not None and workers is None and remote is None
        self.model: Streams = remote or opened.enter_context(
            load(
                options.deployment,
                provider=options.device,
                progress=self._count_windows if self.counts_windows else None,
                workers=workers,
            )
        )

    def _usual_workers(self, manifest: Manifest) -> Literal["auto"] | None:
        """As many as CPUs, each of one thread, where there are images for all of them and the CPU computes.

        Images that the host cuts into windows run one by one: they may be huge, and their windows are counted.
        """
        on_cpu = get_backend(manifest.backend).is_on_cpu(self.options.device or manifest.provider)
        if self.live or not on_cpu or manifest.windows is not None or manifest.threads is not None:
            return None
        return "auto" if self._total() >= default_threads() > 1 else None

    def predictions(self) -> Iterator[Prediction]:
        """All of them, counted, and written where there is an output. Raises as the model and the disk do."""
        items = islice(list_items(self.sources, self._skip), self.options.limit)
        total = self._total()
        if not self.counts_windows:
            self.count(PREDICT, 0, total)
        stream = self.model.predictions(items, self.inputs, begin=self._begin)
        try:
            for prediction in stream:
                if prediction.fault is not None:
                    self.failures.append(prediction.fault)
                if self.output is not None:
                    self.output.add(prediction, None if prediction.fault else self.kept(prediction))
                self.done += 1
                if not self.counts_windows:
                    self.count(PREDICT, self.done, total)
                yield prediction
        finally:
            stream.close()
        self.finish()

    def kept(self, prediction: Prediction) -> Result:
        """What is asked for of a result. Raises InputError where there is a fault."""
        if self.options.score is None and not self.options.classes:
            return prediction.result
        return prediction.result.filter(score=self.options.score, classes=self.options.classes or None)

    def raise_failures(self) -> None:
        """Raises SomeInputsFailedError where there were some."""
        if self.failures:
            raise SomeInputsFailedError(
                f"{len(self.failures)} of {self.done} inputs failed, the first: {self.failures[0]}"
            )

    @property
    def live(self) -> bool:
        """Whether it is to be ended by Ctrl-C."""
        return any(source.live for source in self.sources)

    @property
    def data(self) -> dict[str, Any]:
        """For --json."""
        written = [] if self.output is None else self.output.written
        return {
            "deployment": str(self.options.deployment),
            "inputs": self.done,
            "failed": self.failures,
            "written": written,
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    def finish(self) -> None:
        """Write what is written at the end."""
        if self.output is not None:
            again = bool(self.failures) and not self.live  # a frame of a camera cannot be tried again
            self.output.finish(failed=again, cut=self.options.limit is not None)
        self.finished = True

    def _skip(self, source: Source) -> Collection[int] | None:
        return () if self.output is None else self.output.skip(source)

    def _total(self) -> int:
        """How many inputs there are to do; 0 where nobody knows."""
        total = 0
        for source in self.sources:
            done = self._skip(source)
            if done is None:
                continue
            count = 1 if source.recording is None else source.recording.count
            if count is None:
                return 0
            total += max(0, count - len(done))
        return total if self.options.limit is None else min(total, self.options.limit)

    def _begin(self, item: Item) -> None:
        self._current = item.label

    def _count_windows(self, _what: str, done: int, total: int) -> None:
        self.count(self._current, done, total)
