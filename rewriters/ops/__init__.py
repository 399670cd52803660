"""Operators of our own, namespace ``zooport::``: what has a data-dependent size inside and a fixed shape outside.

Each is registered with torch once, at import; its translations to ONNX are in force during an export only.
"""
