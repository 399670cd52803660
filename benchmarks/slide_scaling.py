"""How slide inference grows with the image: latency and peak memory in ONNX Runtime, form by form.

Windows of 512 pixels every 341, 19 classes, a light encoder, so that joining the windows is most of the work. Each size
and form is exported, and run in a process of its own for its memory; "host" cuts and joins the windows in numpy, and
also runs an image of 10000x10000 pixels. At 1024x1024 the forms also run in turns in one process, beside torch's own
export with its slice assignment, and once more with a real encoder.

    python benchmarks/slide_scaling.py --page docs/measured/slide_scaling.md

Peak memory is what the process grows by while it runs, the outputs included. Where a target is missed, the last column
says what takes the time or the memory, as far as that was measured. Exit code 3 where one is missed.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.ticker import NullFormatter
from measured import growth, interleaved, machine, ratio, reduce_colors, write_page
from sessions import open_session, plain_export, session_run

from backends.onnxruntime.runner import OnnxRuntimeRunner
from backends.onnxruntime.session import open_session as backend_session
from backends.slide_runner import SlideRunner
from pipeline.export.export_step import export_file
from pipeline.export.host_windows import WindowModel, WindowsOnHost, sliding_of
from rewriters import export_onnx
from zoo import Target
from zoo.families import contract_module
from zoo.models.segmentation import EncoderDecoder
from zoo.preprocess import Preprocess
from zoo.target import AxisRange
from zoo.tasks import build_task
from zoo.tensor_spec import TensorSpec
from zoo.windows import Windows

CROP, STRIDE, CLASSES = 512, 341, 19
SIZES = (512, 768, 1024, 1448, 2048)
COMPARED = 1024
WINDOW_BATCH = 8
LEVELS = ("final", "decoded")
HUGE = 10000
# By name: how the windows are joined, and how many run at once.
FORMS = {
    "segments": ("segments", WINDOW_BATCH),
    "segments, one by one": ("segments", 1),
    "pad": ("pad", WINDOW_BATCH),
}
HOST, PLAIN = "host", "plain"
WINDOWS = Windows((CROP, CROP), (STRIDE, STRIDE), batch=WINDOW_BATCH)
RUNS = 5
# The exponents of latency; memory against logits + input + one window batch; latency against other forms.
EXPONENT, MEMORY, OF_PAD, OF_PLAIN, OF_PLAIN_REAL, HOST_OF_GRAPH = 1.1, 1.5, 0.5, 0.1, 1.03, 1.5
MIB = 2**20


class Check(NamedTuple):
    """A figure, which must be `most` at most; `why`: what takes the time or the memory, in words."""

    what: str
    figure: float
    most: float
    why: str = ""


class TimedRunner(OnnxRuntimeRunner):
    """Counts the `seconds` of its runs."""

    seconds = 0.0

    def run(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """See Runner."""
        begin = time.perf_counter()
        outputs = super().run(arrays)
        self.seconds += time.perf_counter() - begin
        return outputs


def main() -> int:
    """Print the tables; 3 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--cell", nargs=3, metavar=("FORM", "LEVEL", "SIZE"), help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.cell:
        form, level, size = args.cell
        print(json.dumps(_host_cell(args.file, level, int(size)) if form == HOST else _cell(args.file)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        cells = {}
        for level in LEVELS:
            for form in FORMS:
                for size in args.sizes:
                    _ours(_model(light=True), form, level, size, path)
                    cells[form, level, size] = _in_a_process(path, form, level, size)
        _window(_model(light=True), path)
        for level, size in [*((level, size) for level in LEVELS for size in args.sizes), ("final", HUGE)]:
            cells[HOST, level, size] = _in_a_process(path, HOST, level, size)
        light = _side_by_side(_model(light=True), path)
        real = _side_by_side(_model(light=False), path)
    table, held = _tables(cells, light, real)
    print(table)
    if args.page:
        sizes, counts = (
            " and ".join(map(str, numbers)) for numbers in (args.sizes, [_windows(side) for side in args.sizes])
        )
        intro = (
            f"Windows of {CROP}x{CROP} every {STRIDE}, {CLASSES} classes, batch 1, at fixed sizes. Final gives the "
            f'label map, decoded the logits. "segments", "pad" and "host" take {WINDOW_BATCH} windows of a row '
            f"at once. Images of {sizes} pixels a side have {counts} windows. Memory is what the process grows by, "
            "outputs included, in sessions of backends.onnxruntime; the ratios to other graphs are of sessions with "
            "ONNX Runtime's defaults.\n\n" + machine("torch", "onnxruntime")
        )
        _plot(cells, args.page.with_suffix(".png"))
        write_page(args.page, "Slide inference and the size of the image", intro, "benchmarks/slide_scaling.py", table)
    return 0 if held else 3


def _model(*, light: bool) -> EncoderDecoder:
    torch.manual_seed(0)
    width, depth = (4, 18) if light else (64, 50)
    last = width * 8 * (1 if light else 4)
    return EncoderDecoder(
        backbone={"type": "ResNet", "depth": depth, "base_channels": width},
        decode_head={
            "type": "FCNHead",
            "in_channels": last,
            "in_index": 3,
            "channels": 4 * width,
            "num_classes": CLASSES,
        },
        test_cfg={"mode": "slide", "crop_size": (CROP, CROP), "stride": (STRIDE, STRIDE)},
    ).eval()


def _ours(model: EncoderDecoder, form: str, level: str, size: int, path: Path) -> bytes:
    task = build_task(_task())
    side = AxisRange.fixed(size)
    specs = {
        "final": TensorSpec("label_map", "uint8", (1, size, size)),
        "decoded": TensorSpec("logits", "float32", (1, CLASSES, size, size)),
    }
    accumulate, window_batch = FORMS[form]
    export_onnx(
        contract_module(model, task, level, {}),
        Target(
            {"batch": AxisRange.fixed(1), "height": side, "width": side},
            exporter="torchscript",
            level=level,
            window_batch=window_batch,
        ),
        path,
        example={"images": torch.rand(1, 3, size, size)},
        output_specs=[specs[level]],
        required_rewriters=[{"name": sliding_of(model).rewriter, "accumulate": accumulate}],
    )
    return path.read_bytes()


def _window(model: EncoderDecoder, path: Path) -> None:
    """The file of the host's form."""
    side = AxisRange.fixed(CROP)
    target = Target({"height": side, "width": side}, exporter="torchscript", slide=HOST)
    host = WindowsOnHost(WindowModel(model, {}), WINDOWS)
    example = host.file_example({"images": torch.rand(2, 3, CROP, CROP)})
    export_file(host.module, host.file_target(target), path, example=example, output_specs=host.file_outputs(()))


def _in_a_process(path: Path, form: str, level: str, size: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--file", str(path), "--cell", form, level, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    content: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    words = f"{content['seconds']:.2f} s, {content['bytes'] / MIB:.0f} MiB"
    print(f"{form}, {level}, {size}: {words}", file=sys.stderr, flush=True)
    return content


def _cell(path: Path) -> dict[str, float]:
    session = backend_session(path, "cpu", None)
    feed = {"images": np.random.default_rng(0).random(session.get_inputs()[0].shape, np.float32)}
    return _measured(lambda: session.run(None, feed), RUNS)


def _host_cell(path: Path, level: str, size: int) -> dict[str, float]:
    """From an image, as a deployment takes it: uint8 [size, size, 3]."""
    spec = TensorSpec("images", "float32", ("batch", 3, "height", "width"))
    output = build_task(_task()).outputs(level)[0]
    windows = TimedRunner(path)
    runner = SlideRunner(windows, WINDOWS, [spec], [output])
    sample_image = np.random.default_rng(0).integers(0, 255, (size, size, 3), np.uint8)
    placed = Preprocess(None, "keep", size_divisor=1).placed(sample_image)
    cell = _measured(lambda: runner.run_source(placed, (size, size)), 1 if size == HUGE else RUNS)
    cell["network"] = windows.seconds / cell["total"]
    tracemalloc.start()
    runner.run_source(placed, (size, size))
    cell["arrays"] = tracemalloc.get_traced_memory()[1]
    return cell


def _measured(run: Callable[[], object], runs: int) -> dict[str, float]:
    """Seconds, but for the first run of several, and what the process grows by in all of them."""
    seconds: list[float] = []

    def repeated() -> None:
        for _ in range(runs if runs == 1 else runs + 1):
            begin = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - begin)

    grown = growth(repeated)
    return {"seconds": statistics.median(seconds[-runs:]), "total": sum(seconds), "bytes": grown}


def _task() -> dict[str, Any]:
    return {"type": "SemanticSegmentation", "classes": [{"name": str(i), "category_id": i} for i in range(CLASSES)]}


def _side_by_side(model: EncoderDecoder, path: Path) -> dict[str, float]:
    """The latency of "segments" as a part of the other forms' and of the plain export's, logits at 1024x1024."""
    images = torch.rand(1, 3, COMPARED, COMPARED, generator=torch.Generator().manual_seed(0))
    contents = {form: _ours(model, form, "decoded", COMPARED, path) for form in ("segments", "pad")}
    contents[PLAIN] = plain_export(model, images)
    feed = {"images": images.numpy()}
    runs: dict[str, Callable[[], object]] = {
        form: session_run(open_session(content), feed) for form, content in contents.items()
    }
    seconds = interleaved(runs, RUNS, warm_up=1)
    return {form: ratio(seconds, "segments", form) for form in runs if form != "segments"}


def _bound(size: int, batch: int) -> float:
    """Bytes of logits, input and one window batch (its images and logits)."""
    return 4.0 * (CLASSES + 3) * (size**2 + batch * CROP**2)


def _host_bound(size: int) -> float:
    """Bytes of the label map, a strip of logits and one window batch."""
    return size**2 + 4.0 * CLASSES * CROP * size + 4.0 * (CLASSES + 3) * WINDOW_BATCH * CROP**2


def _exponent(
    cells: Mapping[tuple[str, str, int], Mapping[str, float]], form: str, level: str, amount: Callable[[int], int]
) -> float:
    """Of latency against what an image of that side amounts to: the slope of a line through the logarithms."""
    own = {key[2]: cell for key, cell in cells.items() if key[:2] == (form, level) and key[2] != HUGE}
    return _slope({amount(size): cell["seconds"] for size, cell in own.items()})


def _slope(amounts: Mapping[int, float]) -> float:
    """Of the line through the logarithms."""
    x, y = np.log(list(amounts.items())).T
    return float(np.polyfit(x, y, 1)[0])


def _windows(size: int) -> int:
    tops, lefts = WINDOWS.starts((size, size))
    return len(tops) * len(lefts)


def _area(size: int) -> int:
    return size**2


AMOUNTS = {"the area": _area, "the windows": _windows}  # the windows overlap, and grow faster


def _tables(
    cells: Mapping[tuple[str, str, int], Mapping[str, float]], light: Mapping[str, float], real: Mapping[str, float]
) -> tuple[str, bool]:
    lines = ["| form | level | size | seconds | peak MiB | of logits + input + one window batch |", "|---" * 6 + "|"]
    largest: dict[tuple[str, str], tuple[int, float]] = {}
    for (form, level, size), cell in cells.items():
        part = cell["bytes"] / _bound(size, 1 if form == "segments, one by one" else WINDOW_BATCH)
        if size != HUGE:
            largest[form, level] = (size, part)
        lines.append(f"| {form} | {level} | {size} | {cell['seconds']:.2f} | {cell['bytes'] / MIB:.0f} | {part:.2f} |")
    sizes = sorted({size for *_, size in cells if size != HUGE})
    checks = [
        Check(
            f"exponent of latency against {what}, {form}, {level}",
            _exponent(cells, form, level, amount),
            EXPONENT,
            f"their windows grow with {_slope({_area(size): _windows(size) for size in sizes}):.2f}"
            if amount is _area
            else "",
        )
        for form, level in largest
        for what, amount in AMOUNTS.items()
        if form != "pad"
    ]
    checks += [
        Check(
            f"memory at {size}, {form}, {level}, of logits + input + one window batch",
            part,
            MEMORY,
            _arrays(cells[form, level, size]),
        )
        for (form, level), (size, part) in largest.items()
        if form != "pad"
    ]
    for (form, level, size), cell in cells.items():
        if form == HOST and size == max(sizes):
            of_graph, network = cell["seconds"] / cells["segments", level, size]["seconds"], cell["network"]
            why = f"the windows' network {network * of_graph:.2f}, cutting and joining the rest"
            checks.append(Check(f"latency at {size}, host, {level}, of segments", of_graph, HOST_OF_GRAPH, why))
    huge = cells[HOST, "final", HUGE]
    checks += [
        Check(
            f"memory at {HUGE}, host, final, of label map + strip of logits + one window batch",
            huge["bytes"] / _host_bound(HUGE),
            MEMORY,
            _arrays(huge),
        ),
        Check(f"latency at {COMPARED}, light encoder, of pad", light["pad"], OF_PAD),
        Check(f"latency at {COMPARED}, light encoder, of the plain export", light[PLAIN], OF_PLAIN),
        Check(f"latency at {COMPARED}, ResNet-50, of the plain export", real[PLAIN], OF_PLAIN_REAL),
    ]
    targets = ["| what | measured | target | | why |", "|---" * 5 + "|"]
    for check in checks:
        words = "held | " if check.figure <= check.most else f"missed | {check.why}"
        targets.append(f"| {check.what} | {check.figure:.2f} | {check.most} | {words} |")
    return "\n".join([*targets, "", *lines]), all(check.figure <= check.most for check in checks)


def _arrays(cell: Mapping[str, float]) -> str:
    """What numpy holds of a cell's memory, where it was counted."""
    return f"numpy's arrays {cell['arrays'] / MIB:.0f} MiB of {cell['bytes'] / MIB:.0f}" if "arrays" in cell else ""


def _plot(cells: Mapping[tuple[str, str, int], Mapping[str, float]], path: Path) -> None:
    """Latency and memory against the area, of the logits."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for form in (*FORMS, HOST):
        own = [(size, cell) for (name, level, size), cell in cells.items() if (name, level) == (form, "decoded")]
        areas = [size**2 / 1e6 for size, _ in own]
        left.loglog(areas, [cell["seconds"] for _, cell in own], marker="o", label=form)
        right.loglog(areas, [cell["bytes"] / MIB for _, cell in own], marker="o", label=form)
    left.set_ylabel("latency in seconds")
    right.set_ylabel("peak memory in MiB")
    for axes in (left, right):
        axes.set_xlabel("side of the image in pixels (axis: area)")
        sizes = sorted({size for *_, size in cells if size != HUGE})
        axes.set_xticks([size**2 / 1e6 for size in sizes], [str(size) for size in sizes])
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.legend()
    figure.savefig(path, dpi=120)
    reduce_colors(path)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
