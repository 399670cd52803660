"""The constants of a graph, compared by value with those of the PyTorch model: also where no image uses them."""
