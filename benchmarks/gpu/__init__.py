"""The GPU kit: what is to be measured on a machine with a CUDA device and no network. See docs/gpu.md."""
