"""What OpenVINO cannot run where its CPU's instruction sets are capped."""

import os

import pytest

CAPPED = (
    "where ONEDNN_MAX_CPU_ISA hides instructions that the CPU has, OpenVINO 2026.4.1 ends with a segmentation fault: "
    "it mixes the two sets in one kernel (AVX-512 in an MVN over a length that is no multiple of 16); "
    "on an emulated CPU without them (qemu-x86_64 -cpu Haswell) it ran SegFormer, 6e-7 of the range from ONNX Runtime"
)


def skip_where_capped() -> None:
    """For graphs with layer, group or instance norms."""
    if "ONEDNN_MAX_CPU_ISA" in os.environ:
        pytest.skip(CAPPED)
