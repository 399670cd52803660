"""Options that a backend does not have."""

from typing import Any

import pytest

from backends.engine_options import EngineOptions
from backends.tensorrt.option_check import check_options
from zoo.errors import InputError


@pytest.mark.parametrize(
    ("backend", "options", "message"),
    [
        ("tensorrt", {"compute_capabilities": ("8.9",)}, "it builds for the GPU of this machine; leave it out, give"),
        ("tensorrt-rtx", {"version_compatible": True}, "it comes without the lean runtime that such an engine carries"),
        (
            "tensorrt-rtx",
            {"hardware_compatible": True, "compute_capabilities": ("8.9",)},
            "an engine for named ones is for no later GPU; give one of the two",
        ),
    ],
)
def test_an_option_that_the_backend_does_not_have(backend: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_options(backend, EngineOptions(**options))


def test_options_that_they_have() -> None:
    check_options("tensorrt", EngineOptions(version_compatible=True, hardware_compatible=True, refittable=True))
    check_options("tensorrt-rtx", EngineOptions(compute_capabilities=("8.9", "12.0")))
    check_options("tensorrt-rtx", EngineOptions(hardware_compatible=True))
