"""Runs of ONNX Runtime whose scatter with a reduction lost an update, because two threads wrote to one place.

ScatterND beside ScatterElements, of multiples of 1/8, so that sums are exact in any order. Needs two free cores.

    python benchmarks/scatter_threads.py --seconds 10
"""

import argparse
import time
from collections.abc import Sequence

import numpy as np
import onnx.parser
import onnxruntime as ort

ROWS, PLACES, CHANNELS, THREADS = 20_000, 12, 64, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Count for each operator and reduction, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each operator and reduction")
    args = parser.parse_args(argv)
    print(f"onnxruntime {ort.__version__}, {THREADS} threads, {ROWS} rows of {CHANNELS} into {PLACES} places")
    for operator in ("ScatterND", "ScatterElements"):
        for reduction in ("add", "max"):
            wrong, runs = _counted(operator, reduction, args.seconds)
            print(f"{operator} {reduction}: {wrong} of {runs} runs are wrong")
    return 0


def _counted(operator: str, reduction: str, seconds: float) -> tuple[int, int]:
    """Wrong runs, and all."""
    random = np.random.default_rng(0)
    places = random.integers(0, PLACES, (ROWS, 1))
    updates = (random.integers(-40, 40, (ROWS, CHANNELS)) / 8).astype(np.float32)
    start = np.zeros((PLACES, CHANNELS), np.float32)
    expected = start.copy()
    {"add": np.add, "max": np.maximum}[reduction].at(expected, places[:, 0], updates)
    if operator == "ScatterElements":
        places = np.tile(places, CHANNELS)
    session = _session(operator, reduction, places.shape[1])
    wrong = runs = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        (result,) = session.run(None, {"start": start, "places": places, "updates": updates})
        wrong, runs = wrong + (not np.array_equal(result, expected)), runs + 1
    return wrong, runs


def _session(operator: str, reduction: str, columns: int) -> ort.InferenceSession:
    attribute = f'reduction = "{reduction}"' + (", axis = 0" if operator == "ScatterElements" else "")
    model = onnx.parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 18]>
        scatter (float[{PLACES}, {CHANNELS}] start, int64[{ROWS}, {columns}] places, float[{ROWS}, {CHANNELS}] updates)
            => (float[{PLACES}, {CHANNELS}] result) {{ result = {operator} <{attribute}> (start, places, updates) }}
    """)
    options = ort.SessionOptions()
    options.intra_op_num_threads = THREADS
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


if __name__ == "__main__":
    raise SystemExit(main())
