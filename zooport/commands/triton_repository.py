"""Write a model repository for NVIDIA's Triton Inference Server."""

import argparse
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zooport.parser import Parser, check_counts
from zooport.terminal import write_line
from zooport.writable import check_writable

MAX_INT32 = 2**31 - 1  # config.pbtxt has int32 for most numbers
EXAMPLES = """examples:
  zooport triton work_dirs/detection/faster-rcnn_r18-fpn_digits/onnxruntime-fp32 --image street.jpg --out models
  zooport triton DEPLOYMENT --image street.jpg --out models --name cars --instances 4 --queue 128
  zooport triton DEPLOYMENT --image street.jpg --out models --ensemble
  tritonserver --model-repository models --http-address 127.0.0.1 --grpc-address 127.0.0.1 --metrics-address 127.0.0.1

The last command is printed for your repository. Without its addresses, Triton listens on all of the machine's. It then
answers requests of the Open Inference Protocol, version 2: the content of an image file in, the arrays of the result
out. The Python of Triton's Python backend needs zooport's core package. A single service in one process needs no
server: see load(folder, workers=N)."""


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="zooport triton", description=__doc__, epilog=EXAMPLES)
    flags.add_argument("deployment", metavar="DEPLOYMENT", help="a folder that zooport deploy wrote")
    flags.add_argument("--image", type=Path, required=True, metavar="F", help="an image for the first call")
    flags.add_argument("--out", type=Path, required=True, metavar="D", help="the repository; created if missing")
    flags.add_argument(
        "--ensemble", action="store_true", help="run the graph in Triton's own backend, between two Python models"
    )
    flags.add_argument("--name", metavar="N", help="name of the model; default: that of the deployment's config")
    counts: dict[str, Any] = {"type": int, "metavar": "N"}
    flags.add_argument("--instances", help="processes; default: the CPUs of this machine, one on each GPU", **counts)
    flags.add_argument("--threads", default=1, help="threads of each process (default: 1)", **counts)
    flags.add_argument(
        "--batch",
        help="requests computed together; default: the smallest batch of the graph, on a GPU the largest",
        **counts,
    )
    flags.add_argument("--queue", default=64, help="requests that may wait; 503 for others (default: 64)", **counts)
    flags.add_argument(
        "--timeout", default=10_000, help="ms that a request may wait; then 503 (default: 10000)", **counts
    )
    flags.add_argument("--delay", default=0, help="us to wait for a batch to fill (default: 0)", **counts)
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Write it, and print where it is and how a server starts with it."""
    check_counts(options, "instances", "batch", "queue", "timeout", most=MAX_INT32)
    from backends.serving.triton_config import Serving
    from backends.serving.triton_repository import start_command, write_model
    from zoo.errors import InputError
    from zoo.manifest import Manifest
    from zoo.manifest_schema import MAX_THREADS

    check_counts(options, "threads", most=MAX_THREADS)
    if not 0 <= options.delay <= MAX_INT32:
        raise InputError(f"--delay {options.delay}: expected 0 to {MAX_INT32}")
    manifest = Manifest.read(options.deployment)
    manifest.check_results(options.deployment)
    check_writable(options.out, f"--out {options.out}", "give another folder", make=True)
    serving = Serving(
        name=options.name or manifest.name,
        instances=options.instances,
        threads=options.threads,
        batch=options.batch,
        queue=options.queue,
        timeout=options.timeout,
        delay=options.delay,
    )
    place = write_model(Path(options.deployment), options.image, options.out, serving, ensemble=options.ensemble)
    command = shlex.join(start_command(options.out))
    write_line(str(place))
    write_line(f"start with: {command}")
    return {"model": str(place), "name": serving.name, "command": command}
