"""A running server under load: CPU for each request beside the plain call, and twice the requests that it can answer.

    zooport triton DEPLOYMENT --image street.jpg --out models --name cars
    tritonserver --model-repository models --http-address 127.0.0.1 --grpc-address 127.0.0.1 \
        --metrics-address 127.0.0.1 &
    python benchmarks/serving_load.py http://127.0.0.1:8000/cars DEPLOYMENT --image street.jpg --pid $! \
        --under-way 2 --page docs/measured/serving_triton.md

The plain call is `model(image)` on one thread, with reading the file, in turns with the server. Clients that wait for
their answers give the capacity; then, for --seconds, twice as many requests come, whether the answers come or not. Each
answer is compared with the first one, and that with `load`'s, to the bit. `serve run zooport.serving:app` is measured
in the same way; --queue is that of all replicas together behind HAProxy, where each has its own. With fewer --clients
or --seconds it is a part of the measurement, and the page says so. Exit code 3 if a gate is missed:

- CPU of the server for each request is at most 1.15 of the plain call's;
- at twice the capacity no answer is wrong or lost, and all are 200 or 503;
- memory does not grow by more than 1 % in the second half;
- p99 of what was accepted is at most (queue + calls under way) / throughput while it waited: no more than queue + calls
  under way other answers came meanwhile;
- the clients did send at least 1.9 times as many requests as the capacity.

Exit code 4 if other processes took CPU from the plain call: figures of a busy machine mean nothing, and no page is
written. Clients run on the same machine, and take part of its CPU.
"""

import argparse
import statistics
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

from measured import machine, write_page
from process_tree import TICKS, cpu_seconds, cpu_ticks
from serving_clients import PlainCalls, Served, Sum, closed_loop, open_loop

from backends import load

CLIENTS = (1, 4, 16, 64)
PARTS = 5
MOST_CPU = 1.15
MOST_GROWTH = 1.01
LEAST_SHARE = 0.95  # of the wall time that the plain call is on a CPU
OVERLOAD, LEAST_OVERLOAD = 2.0, 1.9
SECONDS = 60.0
Missed = list[str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; 3 where a gate is missed, 4 on a busy machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", help="http://host:port/model")
    parser.add_argument("deployment")
    parser.add_argument("--image", required=True)
    parser.add_argument("--pid", type=int, required=True, help="of the server")
    parser.add_argument("--clients", type=int, nargs="+", default=CLIENTS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of the overload (default: 60)")
    parser.add_argument("--queue", type=int, default=64, help="that the server has (default: 64)")
    parser.add_argument("--under-way", type=int, default=4, help="calls at the same time: processes x largest batch")
    parser.add_argument("--name", help="of the server, for the page (default: what it calls itself)")
    parser.add_argument("--page", type=Path)
    options = parser.parse_args(arguments)
    with load(options.deployment, threads=1) as model:
        expected = model(model.task.kind.read(options.image))
    with (
        PlainCalls(options.deployment, options.image) as plain,
        Served(options.address, options.image, options.pid, expected) as served,
    ):
        name = options.name or served.server_name()
        rows = {clients: beside(served, plain, clients, options.seconds / 4) for clients in options.clients}
        capacity = max(row.sum.throughput for row in rows.values())
        before = cpu_ticks(options.pid)
        overload = open_loop(served, OVERLOAD * capacity, options.seconds)
        programs = cpu_ticks(options.pid) - before
    bound = options.queue + options.under_way
    missed = [*missed_by_clients(rows), *missed_by_overload(overload, capacity, bound)]
    tables = (clients_table(rows), overload_table(overload, capacity, bound), programs_table(programs, overload.good))
    verdict = "\n".join(f"- Missed: {line}" for line in missed) or "Every target is held."
    text = "\n\n".join((*tables, verdict))
    print(text)
    share = min(row.share for row in rows.values())
    if share < LEAST_SHARE:
        print(f"the plain call had a CPU {share:.0%} of its time: this machine is busy", file=sys.stderr)
        return 4
    if options.page is not None:
        intro = (
            f"{name} with {Path(options.deployment).resolve().parent.name}, beside the plain call, which "
            f"{plain.cpus} processes make in turns with the server, as many at a time as it has work for. It queues "
            f"{options.queue} requests, and {options.under_way} calls are under way. Each number of clients had "
            f"{options.seconds / 4:g} s, and the overload {options.seconds:g} s. Clients are on the same machine."
            f"{part(options.clients, options.seconds)}\n\n{machine('onnxruntime', 'tritonclient')}"
        )
        write_page(options.page, f"{name} under load", intro, "benchmarks/serving_load.py", text)
    return 3 if missed else 0


def part(clients: Sequence[int], seconds: float) -> str:
    """For the page of a run that is not the whole one."""
    if seconds >= SECONDS and set(clients) >= set(CLIENTS):
        return ""
    return f" This is a part of the measurement, which is {SECONDS:g} s and {', '.join(map(str, CLIENTS))} clients."


@dataclass(frozen=True)
class Row:
    """Of one number of clients: what they saw, seconds of CPU of the plain call beside them, and the ratio to it.

    ``share``: of the wall time that the plain calls, or the server beside them, were on a CPU.
    """

    sum: Sum
    plain: float
    ratio: float
    share: float


def beside(served: Served, plain: PlainCalls, clients: int, seconds: float) -> Row:
    """Clients that wait, for `seconds` in PARTS, each between plain calls: a machine may change its speed meanwhile."""
    processes = min(clients, plain.cpus)
    total, calls, ratios = Sum(), [_alone(served, plain, processes)], []
    for _ in range(PARTS):
        part = closed_loop(served, clients, seconds / PARTS)
        calls.append(_alone(served, plain, processes))
        ratios.append(part.cpu / statistics.mean(cpu for cpu, _ in calls[-2:]))
        total.add(part)
    cpu, shares = zip(*calls, strict=True)
    return Row(total, statistics.median(cpu), statistics.median(ratios), statistics.median(shares))


def _alone(served: Served, plain: PlainCalls, processes: int) -> tuple[float, float]:
    """As PlainCalls.seconds. What the server takes of the CPUs while nobody asks it is not taken by others."""
    before, begin = cpu_seconds(served.pid), time.monotonic()
    cpu, share = plain.seconds(processes)
    idle = (cpu_seconds(served.pid) - before) / (time.monotonic() - begin) / plain.cpus
    return cpu, share + idle


def missed_by_clients(rows: Mapping[int, Row]) -> Missed:
    """What clients that wait found."""
    missed = [
        f"{clients} clients: {row.ratio:.2f} of the plain call's CPU, expected at most {MOST_CPU:g}"
        for clients, row in rows.items()
        if row.ratio > MOST_CPU
    ]
    return missed + [f"{clients} clients: {row.sum.faults}" for clients, row in rows.items() if row.sum.faults]


def missed_by_overload(overload: Sum, capacity: float, bound: int) -> Missed:
    """What too many requests found. `capacity`: in requests/s; `bound`: how many others an answer may wait for."""
    if not overload.good:
        return [f"overload: no answer is right: {overload.faults}, {overload.refused} refused"]
    missed = [f"overload: {overload.faults}"] if overload.faults else []
    if overload.offered < LEAST_OVERLOAD * capacity:
        missed.append(
            f"overload: the clients sent {overload.offered:.1f} requests/s, expected {OVERLOAD:g} times {capacity:.1f}"
        )
    if overload.lost:
        missed.append(f"overload: {overload.lost} requests have no answer")
    if overload.growth > MOST_GROWTH:
        missed.append(f"overload: memory grew to {overload.growth:.3f}")
    if overload.overtaken(99) > bound:
        missed.append(f"overload: p99 waited for {overload.overtaken(99):.0f} other answers, expected at most {bound}")
    return missed


def clients_table(rows: Mapping[int, Row]) -> str:
    """Markdown."""
    lines = [
        "| clients | requests/s | p50 ms | p99 ms | plain call, ms of CPU | CPU of the server / plain call |",
        "|---" * 6 + "|",
    ]
    lines += [
        f"| {clients} | {row.sum.throughput:.1f} | {row.sum.percentile(50):.1f} | {row.sum.percentile(99):.1f} | "
        f"{1000 * row.plain:.1f} | {row.ratio:.2f} |"
        for clients, row in rows.items()
    ]
    return "\n".join(lines)


def overload_table(overload: Sum, capacity: float, bound: int) -> str:
    """Markdown."""
    mean = 1000 * bound / max(1e-9, overload.throughput)
    rows = {
        "requests/s that came, of a capacity": f"{overload.offered:.1f} of {capacity:.1f}",
        "requests": str(overload.requests),
        "answered": f"{overload.good}, {overload.throughput:.1f}/s",
        "refused with 503": str(overload.refused),
        "wrong, of another status, or lost": str(sum(overload.faults.values()) + overload.lost),
        "p50 and p99 of the answers, ms": f"{overload.percentile(50):.0f}, {overload.percentile(99):.0f}",
        "(queue + calls under way) / throughput, ms": f"{mean:.0f} at its mean of the run",
        "other answers while one was waited for: p50, p99, bound": f"{overload.overtaken(50):.0f}, "
        f"{overload.overtaken(99):.0f}, {bound}",
        "memory of the last quarter over that of the second": f"{overload.growth:.4f}",
    }
    return "\n".join(
        ["| twice the capacity | |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows.items())]
    )


def programs_table(ticks: Counter[str], answers: int) -> str:
    """Markdown: what CPU the server's programs took in the overload, the largest first."""
    each = {name: f"{1000 * spent / TICKS / max(1, answers):.1f}" for name, spent in ticks.most_common()}
    rows = [f"| {name} | {words} |" for name, words in each.items() if words != "0.0"]
    return "\n".join(["| program of the server | ms of CPU for each answer |", "|---|---|", *rows])


if __name__ == "__main__":
    sys.exit(main())
