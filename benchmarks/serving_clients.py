"""Clients of a server of the Open Inference Protocol, version 2, and what they saw."""

import http.client
import json
import statistics
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Self

import numpy as np
from process_tree import cpu_seconds, resident_bytes

from backends import load
from backends.serving.address import parse_address
from backends.serving.protocol import FILE
from backends.threads import default_threads
from zoo.tasks import Result

OK, FULL = 200, 503
PLAIN_SECONDS = 1.5  # of each process, at a time
MOST_CLIENTS = 1024  # that send requests which nobody waits for
TIMEOUT = 120.0


class PlainCalls:
    """`model(image)` with reading the file, in processes beside each other, each on one thread. A context manager.

    Two CPUs that are busy may each be slower than one alone, so the server is compared with as many processes as have
    work in it.
    """

    def __init__(self, deployment: str, path: str) -> None:
        self.cpus = default_threads()
        self._pool = ProcessPoolExecutor(self.cpus, get_context("spawn"), _load, (deployment, path))

    def __enter__(self) -> Self:
        self.seconds(self.cpus)  # loads
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def seconds(self, processes: int) -> tuple[float, float]:
        """Of CPU for each call, and which share of the wall time that is: medians of all that `processes` made."""
        calls = np.concatenate(list(self._pool.map(_timed, range(processes))))
        cpu, wall = calls.T
        return float(np.median(cpu)), float(np.median(cpu / wall))


_here: dict[str, Any] = {}
"""The model and the file of a process of PlainCalls."""


def _load(deployment: str, path: str) -> None:
    _here.update(model=load(deployment, threads=1), path=path)
    _timed(0)


def _timed(_number: int) -> list[tuple[float, float]]:
    """Seconds of CPU and of wall time of some calls."""
    model = _here["model"]
    times: list[tuple[float, float]] = []
    end = time.monotonic() + PLAIN_SECONDS
    while not times or time.monotonic() < end:
        wall, cpu = time.perf_counter(), time.process_time()
        model(model.task.kind.read(_here["path"]))
        times.append((time.process_time() - cpu, time.perf_counter() - wall))
    return times


class Served:
    """A model behind a server, asked for the result of one file. `expected`: it. A context manager."""

    def __init__(self, address: str, path: str, pid: int, expected: Result) -> None:
        from tritonclient.http import InferenceServerClient, InferInput, InferRequestedOutput

        _, self.server, self.model = parse_address(address)
        self.pid = pid
        content = np.frombuffer(Path(path).read_bytes(), np.uint8)[np.newaxis]
        tensor = InferInput(FILE, content.shape, "UINT8")
        tensor.set_data_from_numpy(content)
        outputs = [InferRequestedOutput(name) for name in expected.arrays]
        body, head = InferenceServerClient.generate_request_body([tensor], outputs)
        self._body = bytes(body)
        self._headers = {"Inference-Header-Content-Length": str(head)}
        self._local = threading.local()
        self._connections: list[http.client.HTTPConnection] = []
        self.expected = expected
        self.right = b""

    def __enter__(self) -> Self:
        """Raises AssertionError if the first answer is not the expected one, to the bit."""
        try:
            status, self.right, length = self._post()
            assert status == OK, self.right
            difference = self._difference(self.right, length)
            assert not difference, difference
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def server_name(self) -> str:
        """What the server calls itself, with its version."""
        with urllib.request.urlopen(f"http://{self.server}/v2", timeout=TIMEOUT) as answer:
            described = json.load(answer)
        return f"{described['name']} {described['version']}"

    def close(self) -> None:
        """The connections of the clients that have ended. Others open new ones."""
        while self._connections:
            self._connections.pop().close()
        self._local = threading.local()

    def ask(self, result: "Sum") -> None:
        """One request, noted in `result`."""
        begin = time.perf_counter()
        try:
            status, content, length = self._post()
        except OSError as error:
            result.note(f"{type(error).__name__}: {error}")
            return
        if status == FULL:
            result.note(None)
        elif status != OK:
            result.note(f"{status}: {content[:100]!r}")
        elif content != self.right and self._difference(content, length):
            result.note(self._difference(content, length))
        else:
            result.note(None, (begin, time.perf_counter()))

    def _difference(self, content: bytes, length: int | None) -> str:
        """The outputs of an answer that are not the expected ones, to the bit; their order in it is free."""
        from tritonclient.http import InferenceServerClient

        answer = InferenceServerClient.parse_response_body(content, header_length=length)
        expected = self.expected.arrays.items()
        others = [name for name, array in expected if not np.array_equal(answer.as_numpy(name)[0], array)]
        return f"another answer: {', '.join(others)}" if others else ""

    def _post(self) -> tuple[int, bytes, int | None]:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = http.client.HTTPConnection(self.server, timeout=TIMEOUT)
            self._connections.append(connection)
        try:
            connection.request("POST", f"/v2/models/{self.model}/infer", self._body, self._headers)
            answer = connection.getresponse()
            length = answer.getheader("Inference-Header-Content-Length")
            return answer.status, answer.read(), None if length is None else int(length)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise ConnectionError(str(error) or type(error).__name__) from error


@dataclass
class Sum:
    """What the requests of one run found. ``cpu``: seconds of the server for each good answer.

    ``spans``: when each request with a right answer was sent, and when it was answered, in seconds. ``sending``:
    seconds until the last request of those that nobody waits for.
    """

    spans: list[tuple[float, float]] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    requests: int = 0
    seconds: float = 0.0
    sending: float = 0.0
    cpu: float = 0.0
    memory: list[int] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, fault: str | None, span: tuple[float, float] | None = None) -> None:
        """An answer: a fault; without one and without a span, a refusal."""
        with self._lock:
            if fault is not None:
                self.faults[fault] += 1
            elif span is None:
                self.refused += 1
            else:
                self.spans.append(span)

    def add(self, other: "Sum") -> None:
        """What another run, or one client of this one, found; its memory is not added."""
        self.cpu = (self.cpu * self.good + other.cpu * other.good) / max(1, self.good + other.good)
        self.spans += other.spans
        self.faults += other.faults
        self.refused += other.refused
        self.requests += other.requests
        self.seconds += other.seconds

    @property
    def good(self) -> int:
        """Right answers."""
        return len(self.spans)

    @property
    def lost(self) -> int:
        """Requests without an answer."""
        return self.requests - self.good - self.refused - sum(self.faults.values())

    @property
    def throughput(self) -> float:
        """Right answers a second."""
        return self.good / self.seconds

    @property
    def offered(self) -> float:
        """Requests a second, while they were sent."""
        return self.requests / (self.sending or self.seconds)

    @property
    def growth(self) -> float:
        """Median memory of the last quarter, over that of the second."""
        quarter = max(1, len(self.memory) // 4)
        early = self.memory[quarter : 2 * quarter] or self.memory
        return statistics.median(self.memory[-quarter:]) / statistics.median(early)

    @property
    def latencies(self) -> list[float]:
        """Of the right answers, in ms."""
        return [1000 * (end - begin) for begin, end in self.spans]

    def percentile(self, percent: float) -> float:
        """Of the latencies, in ms; NaN without one."""
        return float(np.percentile(self.latencies, percent)) if self.spans else float("nan")

    def overtaken(self, percent: float) -> float:
        """A percentile of how many other right answers came while one was waited for; NaN without one.

        A queue bounds it whatever the speed of the machine, which changes during a run.
        """
        ends = np.sort([end for _, end in self.spans])
        waited = [np.searchsorted(ends, end) - np.searchsorted(ends, begin) for begin, end in self.spans]
        return float(np.percentile(waited, percent)) if waited else float("nan")


def closed_loop(served: Served, clients: int, seconds: float) -> Sum:
    """Clients that send a request when they have the answer to the last one."""
    end = time.monotonic() + seconds

    def client(result: Sum) -> None:
        while not result.requests or time.monotonic() < end:
            result.requests += 1
            served.ask(result)

    def run(result: Sum) -> None:
        parts = [Sum() for _ in range(clients)]
        with ThreadPoolExecutor(clients) as pool:
            list(pool.map(client, parts))
        for part in parts:
            result.add(part)

    return _watched(served, run)


def open_loop(served: Served, rate: float, seconds: float) -> Sum:
    """`rate` requests a second, whether the answers come or not."""

    def run(result: Sum) -> None:
        begin = time.monotonic()
        with ThreadPoolExecutor(MOST_CLIENTS) as pool:
            for number in range(round(rate * seconds)):
                time.sleep(max(0.0, begin + number / rate - time.monotonic()))
                result.requests += 1
                pool.submit(served.ask, result)
            result.sending = time.monotonic() - begin

    return _watched(served, run)


def _watched(served: Served, run: Callable[[Sum], None]) -> Sum:
    """With the server's CPU and memory."""
    result, over = Sum(), threading.Event()

    def watch() -> None:
        while not over.wait(0.25):
            result.memory.append(resident_bytes(served.pid))

    watcher = threading.Thread(target=watch)
    begin, cpu = time.monotonic(), cpu_seconds(served.pid)
    watcher.start()
    try:
        run(result)
    finally:
        over.set()
        watcher.join()
        served.close()
    result.seconds = time.monotonic() - begin
    result.cpu = (cpu_seconds(served.pid) - cpu) / max(1, result.good)
    result.memory.append(resident_bytes(served.pid))
    return result
