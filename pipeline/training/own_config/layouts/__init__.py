"""Each module registers a layout of data of one's own."""
