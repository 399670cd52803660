"""The table: what is known to be refused or computed wrongly, by which backend and version, and what is done."""

from backends.preflight import Row
from backends.registry import backends


def all_rows() -> tuple[Row, ...]:
    """The rows of all backends, each once; those of one backend in its order."""
    rows = (row for backend in backends().values() for row in backend.preflight_rows())
    return tuple({row.name: row for row in rows}.values())
