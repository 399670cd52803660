"""Run a deployment on images: files, folders, globs, videos, cameras, streams, or a list on standard input."""

import argparse
import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.addresses import without_password
from zoo.errors import InputError, SomeInputsFailedError
from zooport.engines import RAY, add_engine_flags, check_engine, folder_or_uri
from zooport.parser import Parser
from zooport.running import with_data
from zooport.terminal import open_light_console, show_counts, write_fault

if TYPE_CHECKING:
    from zooport.prediction_session import PredictionSession

EXAMPLES = """examples:
  zooport predict work_dirs/detection/faster-rcnn_r18-fpn_digits/onnxruntime-fp32 photos --out results --draw
  zooport predict DEPLOYMENT street.mp4 --out results --draw --score 0.5 --classes car bus
  zooport predict DEPLOYMENT val/images --out results --format coco csv --annotations val/annotations.json
  zooport predict DEPLOYMENT photos --recursive --out results --workers 8
  zooport predict http://localhost:8000/cars photos --out results --workers 8
  zooport predict DEPLOYMENT s3://bucket/photos --engine ray --address auto --out s3://bucket/results.parquet
  find . -name '*.jpg' | zooport predict DEPLOYMENT - --out results --format jsonl --resume
  zooport predict work_dirs/super-resolution/srcnn_any-scale_photographs/onnxruntime-fp32 a.jpg --out b --input scale=4

--out receives NAME.png for a label map (a pixel is the model's own id) or an enlarged image, NAME.json for
detections (box x1 y1 x2 y2 in pixels of the image), NAME.npz for their masks (masks bool [n, h, w]), and with --draw
NAME_drawn.png, or NAME_drawn.mp4 for a video. The tables are predictions.jsonl, .csv, .parquet and .coco.json.
Without --out, one line for each image says what was found. An image that cannot be read is reported in one line, and
has a row with its fault."""
CONNECT = "connect to Ray"
RAY_FLAGS = ("address", "gpus", "block_size")
QUIET_OPENCV = {"OPENCV_LOG_LEVEL": "OFF", "OPENCV_FFMPEG_LOGLEVEL": "-8"}
"""What OpenCV and FFmpeg print of a broken file is one line of ours. Read when OpenCV is imported."""


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="zooport predict", description=__doc__, epilog=EXAMPLES, intermixed=True)
    flags.add_argument(
        "deployment",
        metavar="DEPLOYMENT",
        help="a folder that zooport deploy wrote, or the address of a model behind a server",
    )
    flags.add_argument(
        "source",
        nargs="*",
        metavar="SOURCE",
        help="a file, a folder, a glob, a video, a camera's number, a stream's URL, or - for a list on standard input",
    )
    several: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
    flags.add_argument("--image", metavar="F", help="more sources", **several)
    flags.add_argument("--recursive", action="store_true", help="also search subfolders")
    flags.add_argument("--out", type=folder_or_uri, metavar="D", help="folder for the results; created if missing")
    formats = "files (default; some for each image), and the tables jsonl, coco, csv, parquet"
    flags.add_argument("--format", metavar="F", help=f"formats of the results: {formats}", **several)
    flags.add_argument("--draw", action="store_true", help="also draw each result on its image, or on its video")
    flags.add_argument(
        "--score", type=float, metavar="S", help="keep only results with this score, 0 to 1, or a better one"
    )
    flags.add_argument("--classes", metavar="C", help="keep only these classes, by name", **several)
    flags.add_argument("--annotations", type=Path, metavar="F", help="a COCO file, for the image ids of --format coco")
    flags.add_argument("--resume", action="store_true", help="continue a stopped run, and retry the inputs that failed")
    flags.add_argument("--limit", type=int, metavar="N", help="process only the first N images or frames")
    inputs = "set inputs that have defaults: scale=2, score_threshold=0.5"
    flags.add_argument("--input", metavar="NAME=NUMBER", help=inputs, **several)
    flags.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="images, or requests, at a time, each on one thread; default: the CPUs if there are so many files, but 1 "
        "with all threads if the host cuts windows; requests: 1; with Ray as many as have room",
    )
    add_engine_flags(flags)
    flags.add_argument(
        "--block-size", type=int, metavar="N", help="images in each file that Ray's actors write; default: 32 to 10000"
    )
    flags.add_argument("--device", metavar="D", help="cpu, cuda:N ...; default: as deployed")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Predict, write, and give what was written. An error names what was written before it."""
    if not options.verbose:
        os.environ.update({name: os.environ.get(name, value) for name, value in QUIET_OPENCV.items()})
    check_engine(options, RAY_FLAGS)
    if options.engine != RAY and isinstance(options.out, str):
        raise InputError(
            f"--out {without_password(options.out)}: a URI is for --engine {RAY}; give a folder of this machine"
        )
    return _run_by_ray(options) if options.engine == RAY else _run_here(options)


def _run_here(options: argparse.Namespace) -> Mapping[str, Any]:
    from zooport.prediction_session import PredictionSession

    console = open_light_console()
    with PredictionSession(options) as session:
        try:
            with show_counts(console, "windows" if session.counts_windows else session.plural) as (_, count):
                session.count = count
                for prediction in session.predictions():
                    if prediction.fault is not None:
                        write_fault(prediction.fault)
                    elif options.out is None:
                        line = f"{prediction.label}: {session.kept(prediction).summary()}"
                        console.print(line, soft_wrap=True, highlight=False)
            for file in session.data["written"]:
                console.print(file, soft_wrap=True, highlight=False)
            session.raise_failures()
        except BaseException as error:
            if session.live and session.done and not session.finished:  # what was seen cannot be seen again
                with contextlib.suppress(OSError):  # the error itself matters more
                    session.finish()
            _describe(error, session)
            raise
        return session.data


def _run_by_ray(options: argparse.Namespace) -> Mapping[str, Any]:
    from zooport.ray_prediction import RayPrediction

    console = open_light_console()
    prediction = RayPrediction(options)
    try:
        with show_counts(console, prediction.plural) as (step, count):
            step(CONNECT)
            prediction.run(count)
    except BaseException as error:
        with_data(error, prediction.data)
        if prediction.folder.begun and not isinstance(error, SomeInputsFailedError):
            error.add_note("continue with --resume")
        raise
    finally:
        if prediction.actors:
            console.print(prediction.summary, soft_wrap=True, highlight=False)
    return prediction.data


def _describe(error: BaseException, session: "PredictionSession") -> None:
    """What a run that did not end well has done, and how to go on."""
    with_data(error, session.data)
    if (output := session.output) is None:
        return
    if output.count:
        error.add_note(f"files written: {output.count}, the last {output.last}")
    if not session.live:
        error.add_note("continue with --resume")
