"""A process that publishes small deployments in forked children, to be killed. Run by test_publish_killed.py.

Reads lines "PLACE VERSION MODE KILL_AT" and answers with the pid of the child, then with "done" when it has ended.
MODE: words joined by "+": "exchange" or "aside" (as on a system without renameat2); with "notes" somebody writes
notes.txt into the old deployment meanwhile; with "term" the child gets SIGTERM instead of SIGKILL, and turns it into
KeyboardInterrupt as the tools do; with "terms" it gets one more at every later operation. KILL_AT: the number of the
file operation at which the child kills itself, 0 for never; a child that is not killed publishes once, or for ever when
KILL_AT is below 0.
"""

import hashlib
import itertools
import json
import os
import signal
import sys
from pathlib import Path

import pipeline.publishing.publish as module

WATCHED = ("os.", "open", "shutil.", "ctypes.", "fcntl.")


def publish(place: Path, version: int, mode: str = "") -> None:
    """A folder with a model file and a manifest that holds the model's hash."""
    with module.publication(place) as folder:
        if "notes" in mode and place.exists():
            (place / "notes.txt").write_text("mine", encoding="utf-8")
        model = str(version).encode() * 2000
        (folder / "model.onnx").write_bytes(model)
        manifest = {"version": version, "sha256": hashlib.sha256(model).hexdigest()}
        (folder / "deployment.json").write_text(json.dumps(manifest), encoding="utf-8")


def kill_at(count: int, mode: str) -> None:
    """Let the process kill itself just before its count-th file operation."""
    operations = itertools.count(1)
    words = mode.split("+")
    number = signal.SIGTERM if {"term", "terms"} & set(words) else signal.SIGKILL

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    def watch(event: str, _arguments: object) -> None:
        if event.startswith(WATCHED) and event != "os.kill":
            operation = next(operations)
            if operation == count or ("terms" in words and operation > count):
                os.kill(os.getpid(), number)

    signal.signal(signal.SIGTERM, interrupt)
    sys.addaudithook(watch)


def child(place: str, version: str, mode: str, count: str) -> None:
    if "aside" in mode:
        module.exchange = lambda first, second: False
    if int(count) > 0:
        kill_at(int(count), mode)
    number = int(version)
    publish(Path(place), number, mode)
    while int(count) < 0:
        number += 1
        publish(Path(place), number)


def answer(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                child(*line.split())
            except KeyboardInterrupt:
                os._exit(130)
            os._exit(0)
        answer(str(pid))
        os.waitpid(pid, 0)
        answer("done")


if __name__ == "__main__":
    main()
