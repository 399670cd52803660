"""Operators that model code may call."""
