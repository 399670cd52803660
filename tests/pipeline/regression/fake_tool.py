"""Stands for `zooport deploy` and `zooport evaluate`, and does what the config file tells it to.

The config's last line is a comment with JSON: {"deploy": ACT, "evaluate": ACT}, each "good" where it is missing. Every
call is noted in the file <config>.calls.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from zoo.errors import LibraryMissingError

NAME = sys.argv.pop(1)
CONFIG = Path(sys.argv[1])
FLAGS = dict(zip(sys.argv[2::2], sys.argv[3::2], strict=False))  # no flag without a value, but for --gate-split
JSON = Path(sys.argv[sys.argv.index("--json") + 1])


def measured(difference: float, verdict: str) -> dict[str, object]:
    """What `zooport evaluate` writes."""
    reference = {"deployment": None, "verdict": "reference", "figures": {"coco/box_AP": 60.0}}
    row = {
        "deployment": FLAGS["--deployment"],
        "verdict": verdict,
        "figures": {"coco/box_AP": 60.0 + difference},
        "difference": difference,
        "interval": [difference - 0.1, difference + 0.1],
        "gate": 0.1,
    }
    return {"metric": "coco/box_AP", "unit": "points", "dataset": {"images": 4}, "rows": [reference, row]}


def good() -> dict[str, object]:
    """The data of a tool that ends well."""
    if NAME == "evaluate":
        return measured(0.02, "passed")
    place = Path(FLAGS["--work-dir"]) / "place"
    place.mkdir()
    (place / "report.html").touch()
    return {"deployment": str(place)}


def hang(*, deaf_too: bool) -> None:
    """For ever, with a child that is deaf to SIGTERM; their process ids go beside the config."""
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
    if deaf_too:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        staged = CONFIG.with_suffix(".new")
        staged.write_text(f"{os.getpid()} {child.pid}", encoding="utf-8")
        staged.rename(CONFIG.with_suffix(".pids"))
        time.sleep(600)


def main() -> int:
    """The exit code."""
    act = json.loads(CONFIG.read_text(encoding="utf-8").rpartition("#")[2]).get(NAME, "good")
    with CONFIG.with_suffix(".calls").open("a", encoding="utf-8") as calls:
        calls.write(f"{NAME} {' '.join(sys.argv[2:])}\n")
    words, _, rest = act.partition(" ")
    sys.stdout.write("an ordinary line\n")
    match words:
        case "good":
            JSON.write_text(json.dumps(good()), encoding="utf-8")
        case "missed":
            JSON.write_text(json.dumps({"error": rest, **measured(-2.5, "missed")}), encoding="utf-8")
            return 3
        case "unjudged":
            JSON.write_text(json.dumps({**measured(0, "not judged"), "metric": None}), encoding="utf-8")
        case "error":  # as run_tool does it
            JSON.write_text(json.dumps({"error": rest.partition(" ")[2]}), encoding="utf-8")
            sys.stderr.write("error: " + rest.partition(" ")[2])
            return int(rest.partition(" ")[0])
        case "lacks":
            JSON.write_text(json.dumps({"error": rest, **LibraryMissingError.data}), encoding="utf-8")
            return LibraryMissingError.exit_code
        case "mute":  # no JSON
            sys.stderr.write(rest.partition(" ")[2])
            return int(rest.partition(" ")[0])
        case "signal":
            os.kill(os.getpid(), signal.Signals[rest])
        case "hang":
            hang(deaf_too=rest == "deaf")
    return 0


if __name__ == "__main__":
    sys.exit(main())
