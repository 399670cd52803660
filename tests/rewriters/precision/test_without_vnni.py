"""int8 as a CPU without AVX-512 and VNNI computes it: by its real kernels, on a CPU that QEMU emulates."""

import subprocess
import sys
from pathlib import Path
from shutil import which

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from backends.onnxruntime.session import session_options
from rewriters.precision import converter
from tests.rewriters.precision.small_nets import conv_net, sample_images
from zoo.precision_options import PrecisionOptions

EMULATOR = which("qemu-x86_64")
RUN = """
import sys, numpy, onnxruntime
folder, in_floats = sys.argv[1:]
images = numpy.load(f"{folder}/images.npy")
for seed in range(len(images)):
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.add_session_config_entry("session.disable_quant_qdq", in_floats)
    session = onnxruntime.InferenceSession(f"{folder}/{seed}.onnx", options, providers=["CPUExecutionProvider"])
    numpy.save(f"{folder}/{seed}.npy", session.run(None, {"images": images[seed]})[0])
"""
SEEDS = range(4)
CLOSE = 1e-4  # of the largest number; one step of 127 is 80 times as much


def here(made: onnx.ModelProto, images: np.ndarray, *, in_floats: bool) -> np.ndarray:
    options = session_options(1, in_floats=in_floats)
    session = ort.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"images": images})[0])


@pytest.mark.slow
@pytest.mark.skipif(EMULATOR is None, reason="qemu-x86_64 is not installed: apt-get install qemu-user")
@pytest.mark.parametrize(
    ("backend", "in_floats", "same"),
    [("onnxruntime", False, True), ("tensorrt", True, True), ("tensorrt", False, False)],
)
def test_every_cpu_computes_the_same(backend: str, in_floats: bool, same: bool, tmp_path: Path) -> None:
    """The graph for ONNX Runtime, and that for an engine in floats. An engine's by kernels of whole numbers is not."""
    images = [sample_images(seed)[0]["images"] for seed in SEEDS]
    np.save(tmp_path / "images.npy", np.stack(images))
    wanted = []
    for seed in SEEDS:
        made, _ = converter("int8", backend)(conv_net(seed), PrecisionOptions(), sample_images(seed))
        onnx.save(made, tmp_path / f"{seed}.onnx")
        wanted.append(here(made, images[seed], in_floats=backend != "onnxruntime"))
    subprocess.run(
        [str(EMULATOR), "-cpu", "Haswell", sys.executable, "-c", RUN, str(tmp_path), str(int(in_floats))],
        check=True,
        capture_output=True,
        timeout=300,
    )
    found = [np.load(tmp_path / f"{seed}.npy") for seed in SEEDS]
    errors = [np.abs(got - want).max() / np.abs(want).max() for got, want in zip(found, wanted, strict=True)]
    assert all(error < CLOSE for error in errors) == same, errors
