"""From the PyTorch model to the files of a deployment."""
