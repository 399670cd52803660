"""Putting finished folders in place, whole or not at all."""
