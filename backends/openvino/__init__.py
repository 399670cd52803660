"""OpenVINO: models compiled from model.onnx, on the CPU, a GPU or an NPU of Intel's."""

from backends.openvino.backend import OpenVINO

__all__ = ["OpenVINO"]
