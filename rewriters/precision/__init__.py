"""Bringing an exported graph to another precision: one file that every backend runs as it is."""

from rewriters.precision.fp16 import to_fp16
from rewriters.precision.int8 import to_int8
from rewriters.precision.nothing_to_cast import NothingToCastError
from rewriters.precision.report import PrecisionReport
from rewriters.precision.to_precision import to_precision

__all__ = ["NothingToCastError", "PrecisionReport", "to_fp16", "to_int8", "to_precision"]
