"""Inputs of a model, such as images, as a deploy takes and marks them."""
