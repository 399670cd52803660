"""ONNX Runtime: sessions from model.onnx, on the CPU or a CUDA device."""

from backends.onnxruntime.runner import OnnxRuntimeRunner

__all__ = ["OnnxRuntimeRunner"]
