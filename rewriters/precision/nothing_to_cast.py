"""The error of a graph that a precision changes nothing in."""

from zoo.errors import ExportError


class NothingToCastError(ExportError):
    """No layer would compute in the precision: there is none that can, or all are kept in fp32."""
