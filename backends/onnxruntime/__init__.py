"""ONNX Runtime: sessions from model.onnx, on the CPU or a CUDA device."""

from backends.onnxruntime.backend import OnnxRuntime

__all__ = ["OnnxRuntime"]
