"""Nothing gets slower: the headline times of two commits, in turns, in one run.

    python benchmarks/ratchet.py OLD [NEW]        # NEW: by default the commit that is checked out

Each commit is checked out into a folder of its own, deploys the same configs with its own code, and then waits. In
each round both commits run each measure once, in turns, each in a process of its own that sleeps meanwhile, after a
pause and in all orders. OLD takes part twice: what it differs from itself is the noise of the machine, and a figure
within it says nothing. The figure is the median of the rounds' ratios NEW / OLD. Exit code 3 where one is above LIMIT
and above the noise, 4 where the noise is too large to tell. It needs an idle machine.
"""

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 1.05
NOISE = 0.05  # of OLD against itself, above which a measure says nothing
ROUNDS = 18
PAUSE = 0.2
THREADS = 2
CONFIGS: Mapping[str, Sequence[str]] = {
    "faster-rcnn_r18-fpn_digits": (),
    "mask-rcnn_r18-fpn_digits": (),
    "retinanet_r18-fpn_digits": (),
    "yolov5n_digits": (),
    "fcn_r18_digits": (),
    "fcn_r18-slide_digits": ("--slide", "host"),
    "srcnn_x3_photographs": (),
}
"""What is deployed, with its flags."""
SIDES = {"old": "old", "new": "new", "old2": "old"}
"""The processes, and the commit of each."""
WORKER = """
import json, sys, time
from pathlib import Path
import cv2
from backends import load

threads = int(sys.argv[1])
image = cv2.imread(sys.argv[2])
large = cv2.resize(image, (1280, 720), interpolation=cv2.INTER_CUBIC)
folders = [Path(place) for place in sys.argv[3:]]
models = {folder.parent.name: load(folder, threads=threads) for folder in folders}
measures = {f"call: {name}": lambda model=model: model(image) for name, model in models.items()}
if (masks := models.get("mask-rcnn_r18-fpn_digits")) is not None:
    measures["call with pasted masks"] = lambda: masks(image).image_masks(*image.shape[:2])
if (windows := models.get("fcn_r18-slide_digits")) is not None:
    measures["windows of 1280x720 on the host"] = lambda: windows(large)
measures["preprocessing of 1280x720"] = lambda: models[folders[0].parent.name].preprocess([large])

def first_load():
    with load(folders[0], threads=threads) as model:
        model(image)

measures["load and first call"] = first_load
print(json.dumps(sorted(measures)), flush=True)
for line in sys.stdin:
    measure = measures[line.strip()]
    begin = time.perf_counter()
    measure()
    count = max(1, round(0.02 / (time.perf_counter() - begin)))  # what is quick is done for a while
    begin = time.perf_counter()
    for _ in range(count):
        measure()
    print((time.perf_counter() - begin) / count, flush=True)
"""


def main() -> int:
    """Print the table; the exit code says whether anything got slower."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new", nargs="?", default="HEAD")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="configs whose name has one of these")
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    args = parser.parse_args()
    exports: dict[str, list[float]] = {"old": [], "new": []}
    with tempfile.TemporaryDirectory(prefix="zooport-ratchet-") as folder:
        sides = _checkouts({"old": args.old, "new": args.new}, Path(folder))
        places = {
            name: _deployed(side, Path(folder) / f"{name}-work", args.only, exports[name])
            for name, side in sides.items()
        }
        workers = {side: _started(sides[name], places[name]) for side, name in SIDES.items()}
        try:
            seconds = _measured(workers, args.rounds)
        finally:
            for worker in workers.values():
                worker.kill()
                worker.wait()
    rows = {name: _figures(by_side) for name, by_side in seconds.items()}
    print(f"{'measure':<45} {'old ms':>9} {'new / old':>10} {'old / old':>10}")
    for name, row in rows.items():
        print(f"{name:<45} {row['ms']:>9.1f} {row['ratio']:>10.3f} {row['noise']:>10.3f}  {_word(row)}")
    export = statistics.median(exports["new"]) / statistics.median(exports["old"])
    print(f"{'deploys, whole, once each':<45} {'':>9} {export:>10.3f}")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    words = {_word(row) for row in rows.values()}
    return 3 if "SLOWER" in words else 4 if "too noisy" in words else 0


def _checkouts(commits: Mapping[str, str], folder: Path) -> dict[str, Path]:
    """The files of each commit, by its name: no working trees of git, which a killed run would leave behind."""
    places = {}
    for name, commit in commits.items():
        places[name] = folder / name
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(places[name], filter="data")
    return places


def _deployed(side: Path, work_dir: Path, only: Sequence[str], seconds: list[float]) -> list[Path]:
    """The folders of its deployments, in the order of CONFIGS. `seconds`: what each deploy takes is added to it."""
    places = []
    for config, flags in CONFIGS.items():
        if only and not any(word in config for word in only):
            continue
        command = [
            sys.executable,
            "-m",
            "zooport",
            "deploy",
            config,
            "--work-dir",
            str(work_dir / config),
            "-q",
            *flags,
        ]
        begin = time.perf_counter()
        subprocess.run(command, cwd=side, env=_environment(side), check=True)
        seconds.append(time.perf_counter() - begin)
        (manifest,) = (work_dir / config).rglob("deployment.json")
        places.append(manifest.parent)
    return places


def _environment(side: Path) -> dict[str, str]:
    """In which Python finds the packages of that working tree."""
    return {**os.environ, "PYTHONPATH": str(side)}


def _started(side: Path, places: Sequence[Path]) -> subprocess.Popen[str]:
    """A process that has loaded the deployments and waits for the names of measures."""
    image = side / "zoo/data/digits/val/images/000003.jpg"
    command = [sys.executable, "-c", WORKER, str(THREADS), str(image), *map(str, places)]
    return subprocess.Popen(
        command, cwd=side, env=_environment(side), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _answer(worker: subprocess.Popen[str]) -> Any:
    assert worker.stdout is not None
    if not (line := worker.stdout.readline()):
        raise SystemExit(f"a process ended with {worker.wait()}; its error is above")
    return json.loads(line)


def _measured(workers: Mapping[str, subprocess.Popen[str]], rounds: int) -> dict[str, dict[str, list[float]]]:
    """Seconds by measure and side, for those that both commits have."""
    known = [set(_answer(worker)) for worker in workers.values()]
    seconds: dict[str, dict[str, list[float]]] = {
        name: {side: [] for side in workers} for name in sorted(set.intersection(*known))
    }
    for number in range(rounds):
        for name, by_side in seconds.items():
            for side in turns(list(workers), number):
                worker = workers[side]
                time.sleep(PAUSE)  # the threads of the one before still look for work, which takes this one's CPUs
                assert worker.stdin is not None
                worker.stdin.write(f"{name}\n")
                worker.stdin.flush()
                by_side[side].append(_answer(worker))
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
    return seconds


def turns(sides: Sequence[str], number: int) -> list[str]:
    """In which order the processes run in a round: each is as often the first, the second and the last."""
    first = number % len(sides)
    order = [*sides[first:], *sides[:first]]
    return order if number // len(sides) % 2 else order[::-1]


def _figures(by_side: Mapping[str, Sequence[float]]) -> dict[str, float]:
    def ratio(side: str) -> float:
        return statistics.median(a / b for a, b in zip(by_side[side], by_side["old"], strict=True))

    return {"ms": 1e3 * statistics.median(by_side["old"]), "ratio": ratio("new"), "noise": ratio("old2")}


def _word(row: Mapping[str, float]) -> str:
    noise = abs(row["noise"] - 1)
    if noise > NOISE:
        return "too noisy"
    return "SLOWER" if row["ratio"] > LIMIT + noise else ""


if __name__ == "__main__":
    sys.exit(main())
