"""Deploy a model: export it, build it for a backend, prove that it is still the same model, and publish it."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.base.steps import CHECK, BeginStep, deploy_steps
from pipeline.job.backend_options import options_help, parse_options
from pipeline.job.paths_check import check_present
from pipeline.job.target_flags import parse_dynamic
from zoo.errors import GateError
from zoo.target import DEFAULT_BACKEND, Target, check_choices
from zooport.deploy_results import print_build, print_parity, show
from zooport.open_page import open_page
from zooport.parser import Parser
from zooport.terminal import LOAD, open_console, show_steps, write_line
from zooport.writable import check_reference_results

if TYPE_CHECKING:
    from pipeline.deploying import Deployed
    from zoo.config import ModelConfig

EXAMPLES = """examples:
  zooport deploy configs/detection/faster-rcnn_r18-fpn_digits.py --backend onnxruntime
  zooport deploy configs/segmentation/fcn_r18_digits.py --image street.jpg park.jpg --work-dir deployed
  zooport deploy configs/segmentation/fcn_r18_digits.py --dynamic batch=1:4:16 height=256:512:1024 width
  zooport deploy configs/detection/retinanet_r18-fpn_digits.py --precision int8 --keep-fp32 'head.*'
  zooport deploy configs/detection/retinanet_r18-fpn_digits.py --backend tensorrt-rtx --precision fp16 \
      --engine compute_capabilities=8.9,12.0 batches=1,8

Code 3: a parity gate was missed, and nothing is published."""


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="zooport deploy", description=__doc__, epilog=EXAMPLES)
    flags.add_argument("config", metavar="CONFIG", help="the name of a shipped config, or a file")
    flags.add_argument("--checkpoint", metavar="F", help="weights to use instead of the config's")
    flags.add_backend()
    flags.add_argument(
        "--precision", metavar="P", help="fp32 (default), fp16 or int8; the metric decides on fp16 and int8"
    )
    flags.add_argument(
        "--keep-fp32",
        nargs="+",
        action="extend",
        metavar="MODULE",
        help="PyTorch modules that stay in fp32, * and ? allowed; default: the config's",
    )
    flags.add_argument(
        "--half-io", action="store_true", default=None, help="also make inputs without a default, and outputs, fp16"
    )
    flags.add_calibration_image()
    flags.add_argument("--calibration-images", type=int, metavar="N", help="number of images for calibration")
    flags.add_argument("--calibration-method", metavar="M", help="for int8: minmax (default), entropy or percentile")
    flags.add_argument(
        "--engine",
        nargs="+",
        action="extend",
        default=[],
        metavar="OPTION=VALUE",
        help=f"build options of the backend (docs/tensorrt.md); {options_help()}",
    )
    flags.add_argument("--exporter", metavar="E", help="dynamo or torchscript; default: the config's")
    flags.add_argument("--opset", type=int, metavar="V", help="ONNX opset; default: the config's")
    flags.add_argument(
        "--output-level",
        metavar="L",
        help="final, decoded (before the NMS), raw (the head's tensors), plugin (with nodes of TensorRT's plugins), or "
        "pillars (of point clouds)",
    )
    flags.add_argument(
        "--layout", metavar="L", help="ultralytics: the decoded outputs as one output0, for Ultralytics' own tools"
    )
    flags.add_argument(
        "--dynamic",
        nargs="+",
        action="extend",
        default=[],
        metavar="AXIS[=MIN:OPT:MAX]",
        help="let batch, height, width, or count of point clouds, vary between MIN and MAX; equal numbers fix it",
    )
    flags.add_argument(
        "--image-sizes",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="add an input with the size of each image in a padded batch; default: the config's",
    )
    flags.add_argument("--slide", metavar="S", help="where windows are cut: graph, or host for images of any size")
    flags.add_argument("--window-batch", type=int, metavar="N", help="sliding windows that run at once; default: 8")
    flags.add_argument(
        "--image", nargs="+", action="extend", default=[], metavar="F", help="images to compare and to draw"
    )
    flags.add_argument("--work-dir", default="work_dirs", metavar="D", help="default: work_dirs")
    flags.add_reference_results()
    flags.add_argument("--open", action="store_true", help="open the report in a browser")
    flags.add_argument("--device", metavar="D", help="cpu (default), cuda:N, or another of the backend's")
    flags.add_argument(
        "--allow-parity-failure", action="store_true", help="publish in spite of a missed gate; the manifest records it"
    )
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Deploy, print, and give the same as data."""
    console = open_console()
    try:
        config, target = plan(options)
        with show_steps(console, (LOAD, *deploy_steps(target.backend, target.precision))) as begin:
            deployed = deploy(options, config, target, begin)
    except GateError as error:
        if record := getattr(error, "record", None):
            print_parity(console, record)
        raise
    try:
        print_parity(console, deployed.record)
        print_build(console, deployed)
        content = show(console, deployed)
        if options.open:
            open_page(console, deployed.place / "report.html")
    except BaseException as error:
        error.add_note(f"{deployed.place} was published")
        raise
    return content


def deploy(options: argparse.Namespace, config: "ModelConfig", target: Target, begin: BeginStep) -> "Deployed":
    """The work. torch takes seconds to load, so its import waits until the arguments are known to be good."""
    try:
        begin(LOAD)
        from pipeline.deploying import make_deployment
        from pipeline.job.job import plan_job

        begin(CHECK)
        job = plan_job(
            config, target, options.image, options.work_dir, options.calibration_image, options.reference_results
        )
    except KeyboardInterrupt as stop:
        stop.add_note("nothing was published")
        raise
    return make_deployment(job, options.checkpoint, allow_parity_failure=options.allow_parity_failure, progress=begin)


def plan(options: argparse.Namespace) -> tuple["ModelConfig", Target]:
    """The config and what it is deployed for; without torch. Raises InputError and BackendUnavailableError."""
    check_choices(
        precision=options.precision,
        exporter=options.exporter,
        level=options.output_level,
        slide=options.slide,
    )
    check_present("image", options.image)
    check_present("checkpoint", [options.checkpoint])
    check_reference_results(options.reference_results)
    from pipeline.job.deploy_target import deploy_target
    from pipeline.job.target_check import check_target
    from zoo.config import load_config

    config = load_config(_own_config(options))
    target = deploy_target(
        config,
        parse_dynamic(options.dynamic, config.task.kind.axes),
        backend=options.backend,
        precision=options.precision,
        exporter=options.exporter,
        opset=options.opset,
        level=options.output_level,
        layout=options.layout,
        image_sizes=options.image_sizes,
        slide=options.slide,
        window_batch=options.window_batch,
        device=options.device,
        engine=parse_options(options.engine, options.backend or DEFAULT_BACKEND),
        precision_options={
            "keep_fp32": options.keep_fp32,
            "half_io": options.half_io,
            "calibration_images": options.calibration_images,
            "calibration_method": options.calibration_method,
        },
    )
    check_target(target)
    return config, target


def _own_config(options: argparse.Namespace) -> str | Path:
    """The config, or the one that was written for it into the work directory."""
    from zoo.own_model import config_for_deploy

    written = config_for_deploy(options.config, options.checkpoint, options.work_dir)
    if written is None:
        return str(options.config)
    for line in (*written.notes, f"config: {written.path}, written from {options.config}; all other verbs take it"):
        write_line(line)
    return written.path
