"""ONNX Runtime: sessions from model.onnx, on the CPU or a CUDA device."""
