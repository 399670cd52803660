"""Files that are there whole or not at all, locks, and JSON records; with the standard library alone."""
