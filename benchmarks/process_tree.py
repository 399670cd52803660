"""What a process and those that it started use, from /proc: for the scripts that watch a server or a long run."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
PARENT, USER, SYSTEM = 1, 11, 12
"""Fields of /proc/PID/stat, counted from behind the name."""


def family(root: int) -> Iterator[int]:
    """The process and its descendants that run now."""
    parents = {pid: int(fields[PARENT]) for pid, fields in _processes()}
    for pid in parents:
        ancestor = pid
        while ancestor not in (root, 0) and ancestor in parents:
            ancestor = parents[ancestor]
        if ancestor == root:
            yield pid


def cpu_seconds(root: int) -> float:
    """CPU time of the processes that run now, user and system."""
    return sum(ticks for _, ticks in _ticks(root)) / TICKS


def cpu_ticks(root: int) -> Counter[str]:
    """CPU time of the processes that run now, TICKS a second, by program: a script's name, or a title such as Ray's."""
    ticks: Counter[str] = Counter()
    for pid, count in _ticks(root):
        if words := _command(pid):
            ticks[_program(words)] += count
    return ticks


def resident_bytes(root: int) -> int:
    """Memory in RAM; pages that several of the processes share are counted for each."""
    return sum(_resident(pid) for pid in family(root))


def handles(root: int) -> int:
    """Open files, sockets and the like."""
    return sum(len(list(_listed(Path(f"/proc/{pid}/fd")))) for pid in family(root))


def _ticks(root: int) -> Iterator[tuple[int, int]]:
    pids = set(family(root))
    for pid, fields in _processes():
        if pid in pids:
            yield pid, int(fields[USER]) + int(fields[SYSTEM])


def _processes() -> Iterator[tuple[int, list[str]]]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:  # it has ended
            continue
        yield int(folder.name), text.rpartition(")")[2].split()


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * PAGE
    except OSError:
        return 0


def _command(pid: int) -> list[str]:
    """Its words; none of a process that has ended, also where its parent has not taken notice."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
    except OSError:
        return []
    return [word for word in words if word]


def _program(command: list[str]) -> str:
    """The script of an interpreter, or else the program. Ray's processes have a title: their class and what it runs."""
    title, *words = command
    program = Path(title.split()[0]).name
    if program.startswith("python"):
        program = next((Path(word).name for word in words if not word.startswith("-")), program)
    return program.partition(".")[0] if program.startswith("ray::") else program


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
