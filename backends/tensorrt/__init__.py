"""Builds and runs TensorRT engines, with the library tensorrt or tensorrt_rtx. Imports neither before it is used."""

from backends.tensorrt.backend import TensorRT, TensorRTRTX

__all__ = ["TensorRT", "TensorRTRTX"]
