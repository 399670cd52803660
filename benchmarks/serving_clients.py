"""Clients of a server of the Open Inference Protocol, version 2, and what they saw."""

import http.client
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
from process_tree import cpu_seconds, resident_bytes

from backends import Deployment
from backends.serving.address import parse_address
from backends.serving.protocol import FILE
from zoo.tasks import Result

OK, FULL = 200, 503
PLAIN_CALLS = 30
MOST_CLIENTS = 1024  # that send requests which nobody waits for
TIMEOUT = 120.0


def plain_call(model: Deployment, path: str) -> tuple[float, float]:
    """Seconds of CPU of reading a file and calling the model with it, and which share of the wall time that is."""
    for _ in range(3):
        model(model.task.kind.read(path))
    ratios, seconds = [], []
    for _ in range(PLAIN_CALLS):
        wall, cpu = time.perf_counter(), time.process_time()
        model(model.task.kind.read(path))
        seconds.append(time.process_time() - cpu)
        ratios.append(seconds[-1] / (time.perf_counter() - wall))
    return statistics.median(seconds), statistics.median(ratios)


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
        self._expected = expected
        self.right = b""

    def __enter__(self) -> Self:
        """Raises AssertionError if the first answer is not the expected one, to the bit. Later ones have its bytes."""
        from tritonclient.http import InferenceServerClient

        try:
            status, self.right, length = self._post()
            assert status == OK, self.right
            answer = InferenceServerClient.parse_response_body(self.right, header_length=length)
            for name, array in self._expected.arrays.items():
                np.testing.assert_array_equal(answer.as_numpy(name)[0], array, err_msg=name)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """The connections of the clients that have ended. Others open new ones."""
        while self._connections:
            self._connections.pop().close()
        self._local = threading.local()

    def ask(self, result: "Sum") -> None:
        """One request, noted in `result`."""
        begin = time.perf_counter()
        try:
            status, content, _ = self._post()
        except OSError as error:
            result.note(f"{type(error).__name__}: {error}")
            return
        if status == FULL:
            result.note(None)
        elif status != OK:
            result.note(f"{status}: {content[:100]!r}")
        elif content != self.right:
            result.note("another answer")
        else:
            result.note(None, 1000 * (time.perf_counter() - begin))

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

    ``sending``: seconds until the last request of those that nobody waits for.
    """

    latencies: list[float] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    requests: int = 0
    seconds: float = 0.0
    sending: float = 0.0
    cpu: float = 0.0
    memory: list[int] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, fault: str | None, latency: float | None = None) -> None:
        """An answer: a fault; without one and without a latency, a refusal."""
        with self._lock:
            if fault is not None:
                self.faults[fault] += 1
            elif latency is None:
                self.refused += 1
            else:
                self.latencies.append(latency)

    @property
    def good(self) -> int:
        """Right answers."""
        return len(self.latencies)

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

    def percentile(self, percent: float) -> float:
        """Of the latencies, in ms; NaN without one."""
        return float(np.percentile(self.latencies, percent)) if self.latencies else float("nan")


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
            result.requests += part.requests
            result.refused += part.refused
            result.faults += part.faults
            result.latencies += part.latencies

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
