"""What an ONNX graph holds: its graphs within graphs, who reads what, types, opsets, and the modules of its nodes."""
