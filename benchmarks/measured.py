"""What the benchmark scripts share: the machine in words, interleaved rounds, and the page that a table goes into."""

import hashlib
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from PIL import Image
from process_tree import cpu_seconds

from backends.benchmark.bursts import LONG, PAUSE
from pipeline.base.machine import processor, threads
from rewriters.export_record import peak_memory
from zoo.build import library_missing
from zoo.config import ModelConfig, config_target, load_config
from zoo.config.located import is_address
from zoo.listing import list_models

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # processes that are timed do not compile what they import each time

ROOT = Path(__file__).resolve().parents[1]
STAMP = "made with"
COLORS = 32  # of a plot
DIGITS = 6  # significant ones, of the floats in kept cells


PRECISION_CODE = (
    "configs",
    "rewriters",
    "backends",
    "zoo/weights",
    "zoo/models",
    "zoo/dialect.py",
    "pipeline/precision",
)
"""What the metric of a deployment in lower precision is made of, besides the script that measures it."""
DEPLOYMENT_CODE = ("configs", "rewriters", "backends", "zoo", "pipeline")
DEPLOYMENT_PACKAGES = ("torch", "onnx", "onnxruntime")


def of_images(config: ModelConfig) -> bool:
    """Whether the model takes images."""
    return config.task.kind.name == "image"


def of_one_size(config: ModelConfig) -> bool:
    """Whether the model takes images, which its config brings to one size."""
    return of_images(config) and config_target(config).fixed_sides


def shipped_configs(
    words: Sequence[str] = (),
    takes: Callable[[ModelConfig], bool] = lambda config: True,  # noqa: ARG005 - every one
) -> list[str]:
    """The configs whose weights are in the repository; with `words` those whose name has one of them.

    `takes`: whether a script can measure the model of a config. Those whose model needs a library that is not installed
    are left out, with a line that says so.
    """
    chosen = []
    for path in list_models(ROOT / "configs"):
        name = Path(path).stem
        if words and not any(word in name for word in words):
            continue
        config = load_config(path)
        if config.checkpoint is None or is_address(config.checkpoint) or not takes(config):
            continue
        if (missing := library_missing(config)) is None:
            chosen.append(path)
        else:
            print(f"{name} is left out: {missing}", file=sys.stderr)
    return chosen


def machine(*packages: str) -> str:
    """Processor, threads and versions, for the line above a table."""
    found = ", ".join(f"{package} {version(package)}" for package in packages)
    return f"{processor()}, {threads()} threads; {found}"


def made_with(made_of: str, *packages: str) -> str:
    """What a figure was measured with, or a file was made with. `made_of`: see `sources`."""
    return f"{machine(*packages)}; sources {made_of}"


def interleaved(runs: Mapping[str, Callable[[], object]], rounds: int, warm_up: int = 3) -> dict[str, list[float]]:
    """Seconds of each run, one after another in each round, as `zooport benchmark` does it for models."""
    for _ in range(warm_up):
        for run in runs.values():
            run()
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds):
        for name in list(runs) if number % 2 == 0 else reversed(list(runs)):
            time.sleep(PAUSE)
            if not seconds[name] or seconds[name][-1] < LONG:
                runs[name]()  # untimed: brings its own threads and caches back
            begin = time.perf_counter()
            runs[name]()
            seconds[name].append(time.perf_counter() - begin)
    return seconds


def busy_elsewhere() -> float:
    """Seconds that the machine's threads have worked since its start, less those of this process."""
    return _busy() - time.process_time()


def _busy() -> float:
    user, nice, system, _idle, _waiting, *others = map(int, Path("/proc/stat").read_text("ascii").split()[1:9])
    return (user + nice + system + sum(others)) / os.sysconf("SC_CLK_TCK")


class Others:
    """Around what is timed, once or several times: `share` of the CPUs' time that other processes took meanwhile."""

    def __init__(self) -> None:
        self._busy = self._seconds = 0.0

    def __enter__(self) -> Self:
        self._began = _busy_beside(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        busy, begin = self._began
        self._busy += _busy_beside() - busy
        self._seconds += time.perf_counter() - begin

    @property
    def share(self) -> float:
        """From 0 to 1. Processes that this one started, and that still run, are not others."""
        return max(0.0, self._busy / max(1e-9, self._seconds) / (os.cpu_count() or 1))


def _busy_beside() -> float:
    return _busy() - cpu_seconds(os.getpid())


def deployed(work_dir: Path, config: str, *flags: str) -> Path:
    """The folder of the deployment below `work_dir`, made unless it is there, with these very versions and sources."""
    stamp = f"{made_with(sources(*DEPLOYMENT_CODE), *DEPLOYMENT_PACKAGES)}; {' '.join((config, *flags))}"
    kept = work_dir / "made_with.txt"
    places = list(work_dir.rglob("deployment.json"))
    if not places or not kept.is_file() or kept.read_text(encoding="utf-8") != stamp:
        for place in places:
            shutil.rmtree(place.parent)
        command = [sys.executable, "-m", "zooport", "deploy", config, "--work-dir", str(work_dir), "-q", *flags]
        subprocess.run(command, check=True, cwd=ROOT)
        kept.write_text(stamp, encoding="utf-8")
        places = list(work_dir.rglob("deployment.json"))
    return places[0].parent


def ratio(seconds: Mapping[str, list[float]], name: str, base: str) -> float:
    """The median of the rounds' ratios of one run to another."""
    return statistics.median(a / b for a, b in zip(seconds[name], seconds[base], strict=True))


def write_page(path: Path, title: str, intro: str, command: str, table: str) -> None:
    """A generated Markdown page: what it shows, the command that made it, the table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# {title}\n\n{intro}\n\nMade by `{command}`; do not edit.\n\n{table}\n", encoding="utf-8")


def reduce_colors(path: Path) -> None:
    """Of a plot, which is then a third as large."""
    Image.open(path).convert("RGB").quantize(COLORS).save(path, optimize=True)


def state_of(path: Path, made_of: str, *packages: str) -> dict[str, Any]:
    """What an interrupted run has kept of its cells, with these very versions and sources; else a new state."""
    stamp = made_with(made_of, *packages)
    state: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return state if state.get(STAMP) == stamp else {STAMP: stamp}


def keep(state: Mapping[str, Any], path: Path) -> None:
    """Writes the cells done so far, a line for each, floats with as many digits as a page could need."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (f"{json.dumps(key)}:{json.dumps(_rounded(cell), separators=(',', ':'))}" for key, cell in state.items())
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: _rounded(part) for key, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, list | tuple) else value


def stamps(cells: Mapping[str, Any]) -> list[str]:
    """What the cells were measured with; which ones, where that is not one thing."""
    made: dict[str, list[str]] = {}
    for key, cell in cells.items():
        made.setdefault(cell[STAMP], []).append(key)
    return [stamp if len(made) == 1 else f"{stamp}: {', '.join(keys)}" for stamp, keys in made.items()]


def growth(run: Callable[[], object]) -> int:
    """By how many resident bytes the process was larger than now, at its largest, while `run` ran."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    with peak_memory() as memory:
        run()
    return memory.bytes - pages * resource.getpagesize()


def sources(*places: str) -> str:
    """A hash over the code and weights that decide a cell; `places`: files and folders of the repository."""
    digest = hashlib.sha256()
    for place in places:
        for path in sorted((ROOT / place).rglob("*") if (ROOT / place).is_dir() else [ROOT / place]):
            if path.suffix in (".py", ".safetensors"):
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
