"""Photographs and smaller copies of them, for super-resolution."""
