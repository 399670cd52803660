"""Operators of attention that several families' rewriters use."""
