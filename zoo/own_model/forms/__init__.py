"""One module for each form of a model's source, which it registers. It imports libraries when it needs them."""
