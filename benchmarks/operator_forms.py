"""What TensorRT's form of our operators costs in ONNX Runtime against ONNX Runtime's own form, in time and memory.

Shapes are those of torchvision's COCO detectors at 800 x 1088 pixels. Times are CPU time of one thread, interleaved, so
that what else the machine does matters little; memory is what one run adds to the process.

    python benchmarks/operator_forms.py --rounds 5
"""

import argparse
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import rewriters  # noqa: F401  # registers the operators
from rewriters.export_record import peak_memory
from rewriters.ops.graph_builder import BOOL, FLOAT, GraphBuilder
from rewriters.ops.operator import OPERATORS
from zoo.dialect import RUNTIME, STANDARD, OperatorForm

RANDOM = np.random.default_rng(0)
STRIDES = (4, 8, 16, 32)


def boxes(*shape: int) -> Any:
    """Boxes of 10 to 210 pixels in an image of 800 x 1088."""
    corner = RANDOM.random((*shape, 2)) * (1088, 800)
    return np.concatenate([corner, corner + 10 + RANDOM.random((*shape, 2)) * 200], axis=-1).astype(np.float32)


def scores(rows: int, count: int, filled: float) -> Any:
    """Scores, all but a part of them empty."""
    drawn = RANDOM.random((rows, count))
    return np.where(RANDOM.random((rows, count)) < filled, drawn, -1).astype(np.float32)


def rois(count: int) -> list[Any]:
    """An image's maps, boxes and their levels."""
    maps = [RANDOM.random((1, 256, 800 // s, 1088 // s), np.float32) for s in STRIDES]
    return [*maps, np.pad(boxes(count), ((0, 0), (1, 0))), RANDOM.integers(0, 4, count)]


def cases() -> Iterator[tuple[str, str, list[Any], dict[str, Any]]]:
    """A name, the operator, its tensors and its other arguments."""
    pool = {"scales": [1 / s for s in STRIDES], "sampling_ratio": 2}
    yield "1 x 1000, proposals", "NmsKeep", [boxes(1, 1000), scores(1, 1000, 1)], {"iou_threshold": 0.7}
    yield "90 x 1000, 2 % filled", "NmsKeep", [boxes(90, 1000), scores(90, 1000, 0.02)], {"iou_threshold": 0.5}
    labels = RANDOM.integers(0, 91, (1, 4507))
    yield (
        "1 x 4507, 30 % filled",
        "ClassNmsKeep",
        [boxes(1, 4507), scores(1, 4507, 0.3), labels],
        {"num_classes": 91, "iou_threshold": 0.5},
    )
    yield "1000 boxes, 256 x 7 x 7", "MultiLevelRoiAlign", rois(1000), {**pool, "output_size": [7, 7]}
    yield "100 boxes, 256 x 14 x 14", "MultiLevelRoiAlign", rois(100), {**pool, "output_size": [14, 14]}
    yield "20 boxes, 17 points", "HeatmapKeypoints", [RANDOM.random((20, 17, 56, 56), np.float32), boxes(20)], {}


FORMS: tuple[OperatorForm, ...] = (RUNTIME, STANDARD)


def session_of(
    form: OperatorForm, operator: str, feed: Mapping[str, Any], given: Mapping[str, Any]
) -> ort.InferenceSession:
    """One operator in one form, on one thread."""
    builder = GraphBuilder("result")
    result = OPERATORS[operator].translations[form](builder, *feed, **given)
    inputs = [
        onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in feed.items()
    ]
    outputs = [onnx.helper.make_tensor_value_info(str(result), BOOL if "Nms" in operator else FLOAT, None)]
    graph = onnx.helper.make_graph(builder.nodes, operator, inputs, outputs)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=10)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.enable_cpu_mem_arena = False  # what a run frees is given back, so that the next one's peak is its own
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def memory_of(run: partial[Any]) -> float:
    """MiB that a run adds to the process at its peak."""
    with peak_memory() as idle:
        pass
    with peak_memory() as running:
        run()
    return (running.bytes - idle.bytes) / 2**20


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print("| operator | tensors | onnxruntime, ms | tensorrt, ms | ratio | onnxruntime, MiB | tensorrt, MiB |")
    print("|---|---|---|---|---|---|---|")
    for name, operator, tensors, given in cases():
        feed = {f"x{index}": tensor for index, tensor in enumerate(tensors)}
        runs = {form: partial(session_of(form, operator, feed, given).run, None, feed) for form in FORMS}
        memory = [f"{memory_of(run):.0f}" for run in runs.values()]
        seconds: dict[str, list[float]] = {form: [] for form in runs}
        for _ in range(rounds):
            for form, run in runs.items():
                start = time.process_time()
                run()
                seconds[form].append(time.process_time() - start)
        ratio = statistics.median(b / a for a, b in zip(seconds[RUNTIME], seconds[STANDARD], strict=True))
        times = [f"{1000 * statistics.median(seconds[form]):.1f}" for form in runs]
        print("|", " | ".join([operator, name, *times, f"{ratio:.1f}", *memory]), "|", flush=True)


if __name__ == "__main__":
    main()
