"""A real Ray cluster of two nodes on this machine; the processes of its actors, and where those of Ray listen."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from socket import create_connection
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
LISTEN = "0A"


@contextmanager
def two_nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Each node has 2 CPUs; `second` is the one that may be removed."""
    import ray
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", str(ROOT)))
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    try:
        nodes.second = nodes.add_node(num_cpus=2)
        nodes.wait_for_nodes()
        yield nodes
    finally:
        ray.shutdown()
        nodes.shutdown()


def answers(port: int) -> bool:
    """Whether something listens there, on 127.0.0.1."""
    try:
        create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def pool_processes() -> list[int]:
    """Those of Ray Data's actors on this process's own nodes, by their names."""
    processes = []
    for number in _descendants(os.getpid()):
        with suppress(OSError):
            name = Path(f"/proc/{number}/cmdline").read_bytes()
            if name.startswith(b"ray::") and b"MapWorker" in name:
                processes.append(number)
    return processes


def listening_addresses(process: int) -> set[str]:
    """On which a process and its descendants listen, IPv4 and IPv6; `::` and `0.0.0.0` are all of them."""
    return {address for address, _ in listening_sockets(process)}


def listening_sockets(process: int) -> set[tuple[str, int]]:
    """The addresses, with the port of each."""
    inodes = set()
    for number in _descendants(process):
        with suppress(OSError):
            for link in list(Path(f"/proc/{number}/fd").iterdir()):
                with suppress(OSError):  # it was closed meanwhile
                    inodes.add(str(link.readlink()))
    return {
        (_address(address), int(port, 16))
        for table in ("tcp", "tcp6")
        for fields in map(str.split, Path(f"/proc/net/{table}").read_text().splitlines()[1:])
        if fields[3] == LISTEN and f"socket:[{fields[9]}]" in inodes
        for address, port in [fields[1].split(":")]
    }


def _descendants(process: int) -> set[int]:
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(") ")[2].split()[1])
    family = {process}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return family


def _address(text: str) -> str:
    """`text`: as /proc/net writes it, words of four bytes, each reversed."""
    content = b"".join(bytes.fromhex(text[place : place + 8])[::-1] for place in range(0, len(text), 8))
    if len(content) == 4:
        return str(IPv4Address(content))
    address = IPv6Address(content)
    return str(address.ipv4_mapped or address)
