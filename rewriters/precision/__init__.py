"""Bringing an exported graph to another precision: one file that a backend runs as it is."""

from rewriters.precision.converter import Converter, converter
from rewriters.precision.fp16 import to_fp16
from rewriters.precision.int8 import to_int8
from rewriters.precision.nothing_to_cast import NothingToCastError
from rewriters.precision.report import PrecisionReport

__all__ = ["Converter", "NothingToCastError", "PrecisionReport", "converter", "to_fp16", "to_int8"]
