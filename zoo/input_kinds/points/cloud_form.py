"""The form of a cloud: its columns, and how many points a file may have, whatever its header claims."""

from zoo.environment_bound import environment_bound
from zoo.errors import InputError

COLUMNS = 4
POINT_BYTES = 4 * COLUMNS
MAX_POINTS = 2**25
"""A hundred times a LiDAR's frame: 0.5 GB as float32."""
MAX_POINTS_VARIABLE = "ZOOPORT_MAX_POINTS"


def max_points() -> int:
    """MAX_POINTS, or what the environment says. Raises InputError."""
    return environment_bound(MAX_POINTS_VARIABLE, MAX_POINTS, 2**31 - 1, unit="points")


def check_count(count: int, label: str) -> None:
    """Raises InputError for more points than `max_points`."""
    if count > (bound := max_points()):
        raise InputError(
            f"point cloud {label}: {count} points, more than the bound of {bound}; give a smaller cloud, or set "
            f"{MAX_POINTS_VARIABLE}={count} where you trust it and have the memory"
        )
