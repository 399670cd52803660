"""A running server under load: CPU for each request beside the plain call, and twice the requests that it can answer.

    zooport triton DEPLOYMENT --image street.jpg --out models --name cars
    tritonserver --model-repository models --http-address 127.0.0.1 --grpc-address 127.0.0.1 \
        --metrics-address 127.0.0.1 &
    python benchmarks/serving_load.py http://127.0.0.1:8000/cars DEPLOYMENT --image street.jpg --pid $! \
        --page docs/measured/serving.md

The plain call is `model(image)` on one thread, with reading the file. Clients that wait for their answers give the
capacity; then, for --seconds, twice as many requests come, whether the answers come or not. Each answer is compared
with the first one, and that with `load`'s, to the bit. `serve run zooport.serving:app` is measured in the same way.
With fewer --clients or --seconds it is a part of the measurement, and the page says so. Exit code 3 if a gate is
missed:

- CPU of the server for each request is at most 1.15 of the plain call's;
- at twice the capacity no answer is wrong or lost, and all are 200 or 503;
- memory does not grow by more than 1 % in the second half;
- p99 of what was accepted is at most (queue + calls under way) / throughput;
- the clients did send at least 1.9 times as many requests as the capacity.

Exit code 4 if other processes took CPU from the plain call: figures of a busy machine mean nothing, and no page is
written. Clients run on the same machine, and take part of its CPU.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

from measured import machine, write_page
from serving_clients import Served, Sum, closed_loop, open_loop, plain_call

from backends import load

CLIENTS = (1, 4, 16, 64)
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
    parser.add_argument("--page", type=Path)
    options = parser.parse_args(arguments)
    with load(options.deployment, threads=1) as model:
        plain, share = plain_call(model, options.image)
        expected = model(model.task.kind.read(options.image))
    with Served(options.address, options.image, options.pid, expected) as served:
        sums = {clients: closed_loop(served, clients, options.seconds / 4) for clients in options.clients}
        capacity = max(each.throughput for each in sums.values())
        overload = open_loop(served, OVERLOAD * capacity, options.seconds)
    bound = 1000 * (options.queue + options.under_way) / max(1e-9, overload.throughput)
    missed = [*missed_by_clients(sums, plain), *missed_by_overload(overload, capacity, bound)]
    text = f"{clients_table(sums, plain)}\n\n{overload_table(overload, capacity, bound)}"
    print(text)
    print("\n".join(missed), file=sys.stderr)
    if share < LEAST_SHARE:
        print(f"the plain call was on a CPU {share:.0%} of its time: this machine is busy", file=sys.stderr)
        return 4
    if options.page is not None:
        intro = (
            f"A server of the Open Inference Protocol beside the plain call, which takes {1000 * plain:.1f} ms of CPU. "
            f"Each number of clients had {options.seconds / 4:g} s, and the overload {options.seconds:g} s. Clients "
            f"are on the same machine.{part(options.clients, options.seconds)}\n\n"
            f"{machine('onnxruntime', 'tritonclient')}"
        )
        write_page(options.page, "A server under load", intro, "benchmarks/serving_load.py", text)
    return 3 if missed else 0


def part(clients: Sequence[int], seconds: float) -> str:
    """For the page of a run that is not the whole one."""
    if seconds >= SECONDS and set(clients) >= set(CLIENTS):
        return ""
    return f" This is a part of the measurement, which is {SECONDS:g} s and {', '.join(map(str, CLIENTS))} clients."


def missed_by_clients(sums: dict[int, Sum], plain: float) -> Missed:
    """What clients that wait found."""
    missed = [
        f"{clients} clients: {each.cpu / plain:.2f} of the plain call's CPU"
        for clients, each in sums.items()
        if each.cpu > MOST_CPU * plain
    ]
    return missed + [f"{clients} clients: {each.faults}" for clients, each in sums.items() if each.faults]


def missed_by_overload(overload: Sum, capacity: float, bound: float) -> Missed:
    """What too many requests found. `capacity`: in requests/s; `bound`: of p99, in ms."""
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
    if overload.percentile(99) > bound:
        missed.append(f"overload: p99 is {overload.percentile(99):.0f} ms, expected at most {bound:.0f} ms")
    return missed


def clients_table(sums: dict[int, Sum], plain: float) -> str:
    """Markdown."""
    lines = ["| clients | requests/s | p50 ms | p99 ms | CPU of the server / plain call |", "|---" * 5 + "|"]
    lines += [
        f"| {clients} | {each.throughput:.1f} | {each.percentile(50):.1f} | {each.percentile(99):.1f} | "
        f"{each.cpu / plain:.2f} |"
        for clients, each in sums.items()
    ]
    return "\n".join(lines)


def overload_table(overload: Sum, capacity: float, bound: float) -> str:
    """Markdown."""
    rows = {
        "requests/s that came, of a capacity": f"{overload.offered:.1f} of {capacity:.1f}",
        "requests": str(overload.requests),
        "answered": f"{overload.good}, {overload.throughput:.1f}/s",
        "refused with 503": str(overload.refused),
        "wrong, of another status, or lost": str(sum(overload.faults.values()) + overload.lost),
        "p99 of the answers, and its bound, ms": f"{overload.percentile(99):.0f}, {bound:.0f}",
        "memory of the last quarter over that of the second": f"{overload.growth:.4f}",
    }
    return "\n".join(
        ["| twice the capacity | |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows.items())]
    )


if __name__ == "__main__":
    sys.exit(main())
