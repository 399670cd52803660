"""Images: how the reference prepares them."""
