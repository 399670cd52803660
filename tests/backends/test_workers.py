"""Models with workers: every image its own result, in order, few at once, by every kind of runner."""

import asyncio
import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends import load, register, registry
from backends.deployment import Deployment
from backends.onnxruntime.backend import OnnxRuntime
from backends.onnxruntime.runner import OnnxRuntimeRunner
from backends.pool import CLOSED, THREAD
from backends.registry import backends
from backends.streaming import MOST_FILES
from tests.backends.conftest import rewrite_manifest
from tests.examples import examples
from zoo.errors import ExportError, InputError
from zoo.sources import Item, Source, find_sources, list_items

ROOT = Path(__file__).parents[2]
EXITS = {
    "calls that nobody waits for": "futures = [model.submit(image) for _ in range(9)]",
    "a thread that submits without end": """
import threading
import weakref
def submit():
    while True:
        model.submit(image)
threading.Thread(target=submit, daemon=True).start()
model.submit(image).result()
""",
    "an error in the main thread": "model.submit(image); raise SystemExit(0)",
}


def as_items(images: Sequence[np.ndarray], listed: list[int]) -> Iterator[Item]:
    for number, image in enumerate(images):
        listed.append(number)
        yield Item(Source(str(number), str(number)), value=image)


def test_submitted_images_have_their_own_results(detector: Path, images: list[np.ndarray]) -> None:
    with load(detector, threads=1) as plain, load(detector, workers=3) as model:
        expected = [plain(image) for image in images]
        futures = [model.submit(images[number % 9]) for number in range(40)]
        assert [future.result() for future in futures] == [expected[number % 9] for number in range(40)]
        assert model.submit(images[:2]).result() == expected[:2]
        assert model(images) == plain(images)


@pytest.mark.parametrize(("workers", "pattern"), [(None, False), (1, False), (2, True)])
def test_a_session_that_workers_share_has_a_pattern_of_memory(
    detector: Path, workers: int | None, pattern: bool
) -> None:
    with load(detector, workers=workers) as model:
        options = model.runner._session.get_session_options()  # type: ignore[attr-defined]
        assert options.enable_mem_pattern is pattern


@examples(8, 60)
@given(data=st.data())
def test_a_stream_is_in_order_and_lists_no_further_than_it_may(detector: Path, data: st.DataObject) -> None:
    workers, ahead = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    levels = data.draw(st.lists(st.integers(0, 5), max_size=30))
    images = [np.full((40, 60, 3), 51 * level, np.uint8) for level in levels]
    end = data.draw(st.integers(0, len(images)))
    listed: list[int] = []
    with load(detector, workers=workers) as model:
        stream = model.predictions(as_items(images, listed), {}, ahead=ahead)
        for number, prediction in zip(range(end), stream, strict=False):
            assert prediction.source == str(number)
            assert prediction.value is images[number]
            assert prediction.result == model(images[number])
            assert len(listed) <= number + ahead + 2
        stream.close()
        assert len(listed) <= end + ahead + 1
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("zooport")]


@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("error", [ExportError("no room"), MemoryError(), cv2.error("a")], ids=str)
def test_an_image_that_cannot_be_computed_is_a_fault_once_another_was(
    detector: Path, error: Exception, workers: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = [np.full((40, 60, 3), level, np.uint8) for level in (10, 20, 30, 40)]
    bad = {30}

    def results(self: Any, items: Any, inputs: Any) -> Any:
        if any(item.value[0, 0, 0] in bad for item in items):
            raise error
        return original(self, items, inputs)

    original = Deployment._results
    monkeypatch.setattr(Deployment, "_results", results)
    with load(detector, workers=workers) as model:
        found = list(model.predictions(as_items(images, []), {}))
        assert [prediction.fault is None for prediction in found] == [True, True, False, True]
        assert str(found[2].fault).startswith("2: ")
        bad.update((10, 20, 40))
        with pytest.raises(ExportError, match="^[01]: "):
            list(model.predictions(as_items(images, []), {}))


@pytest.mark.parametrize("workers", [None, 4])
def test_a_bad_image_is_a_fault_even_where_it_is_done_before_the_good_ones(
    detector: Path, workers: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = [np.full((40, 60, 3), level, np.uint8) for level in (10, 20, 30, 40)]
    failed = threading.Event()

    def results(self: Any, items: Any, inputs: Any) -> Any:
        if items[0].value[0, 0, 0] == 30:
            failed.set()
            raise ExportError("too large")
        if workers:
            assert failed.wait(60)
        return original(self, items, inputs)

    original = Deployment._results
    monkeypatch.setattr(Deployment, "_results", results)
    with load(detector, workers=workers) as model:
        faults = [prediction.fault for prediction in model.predictions(as_items(images, []), {})]
    assert faults == [None, None, "2: too large", None]


@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("batch", [(1, 2, 4), 3])
def test_what_precedes_a_source_that_cannot_be_opened_is_predicted(
    deploy: Callable[..., Path], tmp_path: Path, batch: Any, workers: int | None
) -> None:
    names = [str(tmp_path / f"{number}.png") for number in range(7)]
    for name in names:
        cv2.imwrite(name, np.zeros((40, 60, 3), np.uint8))

    def listed(model: Deployment) -> Iterator[Item]:
        yield from list_items(find_sources(names, model.task.kind))
        raise InputError("camera 9: cannot be opened")

    sources = []
    with load(deploy(batch=batch), workers=workers) as model:
        stream = model.predictions(listed(model), {})
        with pytest.raises(InputError, match="camera 9"):
            sources.extend(prediction.source for prediction in stream)
    assert sources == names


@pytest.mark.parametrize("workers", [None, 2])
def test_the_image_that_a_stream_keeps_goes_when_the_model_is_closed(detector: Path, workers: int | None) -> None:
    image = np.full((40, 60, 3), 10, np.uint8)
    kept = weakref.ref(image)
    with load(detector, workers=workers) as model:
        for prediction in model.predictions(as_items([image], []), {}):
            assert prediction.fault is None
        del image, prediction
        gc.collect()
        assert kept() is not None
    gc.collect()
    assert kept() is None


def test_a_bad_image_is_its_own_fault_and_the_others_go_on(detector: Path, images: list[np.ndarray]) -> None:
    with load(detector, workers=2) as model:
        futures = [model.submit(image if number % 2 else image.astype(float)) for number, image in enumerate(images)]
        for number, future in enumerate(futures):
            if number % 2:
                assert future.result() == model(images[number])
            else:
                with pytest.raises(InputError, match="uint8"):
                    future.result()
        with pytest.raises(InputError, match='unknown input "scale"'):
            model.submit(images[0], scale=2).result()


def test_asyncio(detector: Path, images: list[np.ndarray]) -> None:
    async def main() -> list[Any]:
        with load(detector, workers=2) as model:
            return await asyncio.gather(*(model.acall(image) for image in images * 4))

    with load(detector, threads=1) as plain:
        assert asyncio.run(main()) == [plain(image) for image in images] * 4


def test_a_close_makes_the_submitted_calls_and_refuses_others_in_one_line(
    detector: Path, images: list[np.ndarray]
) -> None:
    with load(detector, workers=2) as model:
        expected = model(images[0])
        futures = [model.submit(images[0]) for _ in range(6)]
    assert [future.result() for future in futures] == [expected] * 6
    with pytest.raises(InputError, match=f"^{CLOSED}$"):
        model.submit(images[0])
    with pytest.raises(InputError, match=CLOSED):
        list(model.predictions(as_items(images, []), {}))
    model.close()
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith(THREAD)]


def test_an_exception_cancels_what_no_worker_has_begun(detector: Path, images: list[np.ndarray]) -> None:
    gate = threading.Event()
    model = load(detector, workers=1)
    held = model.pool.submit(gate.wait)
    threading.Timer(0.02, gate.set).start()
    waiting: list[Future[Any]] = []

    def interrupted() -> None:
        with model:
            waiting.append(model.submit(images[0]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert held.result()
    assert waiting[0].cancelled()


def test_without_workers_there_is_one_line(detector: Path, images: list[np.ndarray]) -> None:
    with load(detector) as model:
        with pytest.raises(InputError, match=r"loaded without workers; give load\(FOLDER, workers=N\)"):
            model.submit(images[0])
        with pytest.raises(InputError, match="without workers"):
            asyncio.run(model.acall(images[0]))


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "2", 10**6])
def test_a_wrong_number_of_workers(detector: Path, workers: object) -> None:
    with pytest.raises(InputError, match="workers=.*: expected an integer from 1"):
        load(detector, workers=workers)
    with pytest.raises(InputError, match="progress with workers"):
        load(detector, workers=2, progress=lambda *_: None)


def test_a_call_of_a_worker_runs_on_one_thread_unless_another_number_is_asked_for(detector: Path) -> None:
    for options, threads in (({}, 1), ({"threads": 2}, 2)):
        with load(detector, workers=2, **options) as model:
            assert model.runner.threads == threads


def test_as_many_workers_as_cpus(detector: Path, images: list[np.ndarray], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backends.loading.default_threads", lambda: 5)
    with load(detector, threads=1) as plain, load(detector, workers="auto") as model:
        assert (model.pool.workers, model.runner.threads) == (5, 1)
        assert model.submit(images[0]).result() == plain(images[0])
    with pytest.raises(
        InputError, match='workers=.*: expected .* or None for no pool of them, or "auto" for one for each'
    ):
        load(detector, workers="all")


def test_images_that_are_cut_into_windows_on_the_host(slide: Path, images: list[np.ndarray]) -> None:
    with load(slide, threads=1) as plain, load(slide, workers=3) as model:
        assert type(model.runner).__name__ == "SlideRunner"
        expected = [plain(image).label_map for image in images]
        futures = [model.submit(image) for image in images * 3]
        for number, future in enumerate(futures):
            np.testing.assert_array_equal(future.result().label_map, expected[number % len(images)])


def test_files_are_read_and_computed_side_by_side(
    detector: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two reads wait for each other, and two runs: one after another, neither would ever end."""
    for number in range(2):
        cv2.imwrite(str(tmp_path / f"{number}.png"), np.full((64, 96, 3), 200, np.uint8))
    reading, running = threading.Barrier(2), threading.Barrier(2)
    with load(detector, workers=2) as model:
        read, run = model.task.kind.read, model.runner._run

        def read_together(name: str) -> np.ndarray:
            reading.wait()
            return read(name)

        def run_together(arrays: Mapping[str, np.ndarray]) -> Sequence[np.ndarray]:
            running.wait()
            return run(arrays)

        monkeypatch.setattr(model.task.kind, "read", read_together)
        monkeypatch.setattr(model.runner, "_run", run_together)
        assert [each.fault for each in model.stream(tmp_path)] == [None, None]


@pytest.mark.parametrize(("task_seconds", "most"), [(0.0, 1), (1000.0, MOST_FILES)])
def test_a_task_has_as_many_files_as_are_quick(
    detector: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task_seconds: float, most: int
) -> None:
    """In order, the unreadable one and the frames between them, too; slow files and frames come one by one."""
    monkeypatch.setattr("backends.streaming.TASK_SECONDS", task_seconds)
    images = [np.full((40, 60, 3), 10 * number, np.uint8) for number in range(26)]
    for number, image in enumerate(images):
        cv2.imwrite(str(tmp_path / f"{number:02}.png"), image)
    (tmp_path / "20.png").write_bytes(b"no image")
    sources = [Source(str(path), path.stem) for path in sorted(tmp_path.iterdir())]
    items = [Item(each, 7, images[25]) if number == 25 else Item(each) for number, each in enumerate(sources)]
    sizes: list[int] = []
    with load(detector, threads=1) as plain, load(detector, workers=2) as model:
        submit = model.pool.submit

        def counted(task: Callable[..., Any], chunk: list[Item]) -> Future[Any]:
            sizes.append(len(chunk))
            future = submit(task, chunk)
            future.exception()  # it has ended, so that its pace is known
            return future

        monkeypatch.setattr(model.pool, "submit", counted)
        predictions = list(model.predictions(iter(items), {}))
        expected = [None if number == 20 else plain(image) for number, image in enumerate(images)]
        assert [each.computed for each in predictions] == expected
    assert [each.source for each in predictions] == [each.label for each in sources]
    assert predictions[20].fault is not None
    assert sizes == ([1] * 26 if most == 1 else [1, 8, 8, 8, 1])


class Alone(OnnxRuntime):
    """As ONNX Runtime, for runners that take one call at a time, as their own check says."""

    name = "alone"
    concurrent = False
    opened: list["AloneRunner"]

    def open(self, folder: Any, manifest: Any, options: Any) -> "AloneRunner":
        runner = super().open(folder, manifest, options)
        self.opened.append(AloneRunner(runner))
        return self.opened[-1]


class AloneRunner(OnnxRuntimeRunner):
    def __init__(self, runner: OnnxRuntimeRunner) -> None:
        self.__dict__.update(runner.__dict__)
        self.calls = 0
        self.taken = threading.Lock()

    def _run(self, arrays: Mapping[str, np.ndarray]) -> Sequence[np.ndarray]:
        assert self.taken.acquire(blocking=False), "two calls at once"
        try:
            self.calls += 1
            threading.Event().wait(1e-3)
            return super()._run(arrays)
        finally:
            self.taken.release()


@pytest.fixture
def alone(deploy: Callable[..., Path]) -> Iterator[Path]:
    before = dict(backends())
    register(Alone())
    Alone.opened = []
    yield rewrite_manifest(deploy(), backend=Alone.name)
    registry._BACKENDS.clear()
    registry._BACKENDS.update(before)


@pytest.mark.parametrize("workers", [None, 3])
def test_runners_that_take_one_call_at_a_time(alone: Path, images: list[np.ndarray], workers: int | None) -> None:
    """As many of them as workers; without workers, threads that share the model take turns."""
    with load(alone, workers=workers) as model:
        expected = [model(image) for image in images]
        results: dict[int, Any] = {}

        def call(number: int) -> None:
            results[number] = model(images[number])

        threads = [threading.Thread(target=call, args=(number,)) for number in range(9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [results[number] for number in range(9)] == expected
        if workers:
            futures = [model.submit(image) for image in images * 3]
            assert [future.result() for future in futures] == expected * 3
    assert len(Alone.opened) == (workers or 1)
    assert all(runner.calls for runner in Alone.opened)
    assert all(runner._closed for runner in Alone.opened)
    with pytest.raises(InputError, match="closed"):
        model(images[0])


@pytest.mark.parametrize("end", EXITS)
def test_python_ends_by_itself(detector: Path, end: str) -> None:
    code = (
        "import sys, numpy; from backends import load; image = numpy.full((64, 96, 3), 200, numpy.uint8);"
        f"model = load(sys.argv[1], workers=2)\n{EXITS[end]}"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, str(detector)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout) == (0, "")
