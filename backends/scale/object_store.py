"""What a driver gives to all its actors, by Ray's object store: each machine receives it once."""

from collections.abc import Callable
from typing import Any

Fetch = Callable[[Any], Any]
"""`fetched`, or what stands in for it."""


def stored(ray: Any, value: Any) -> Any:
    """In the driver: what `fetched` gives the value for. Ray keeps the value as long as this exists."""
    return [ray.put(value)]  # in a list, because Ray would fetch an argument itself


def fetched(reference: Any) -> Any:
    """On an actor."""
    import ray

    return ray.get(reference[0])
