"""What the library answers to the calls of a build is looked at. The library is a stand-in."""

import types
from typing import Any

import pytest

from backends.engine_options import EngineOptions
from backends.tensorrt.builder_config import configure
from backends.tensorrt.network import parse
from zoo.errors import InputError


def test_a_capability_that_is_not_taken() -> None:
    flags = types.SimpleNamespace(TF32=0)
    capabilities = types.SimpleNamespace(__members__={"SM89": 8, "SM120": 12})
    trt: Any = types.SimpleNamespace(
        __name__="tensorrt_rtx", __version__="1.7.1", BuilderFlag=flags, ComputeCapability=capabilities
    )
    config = types.SimpleNamespace(clear_flag=print, set_compute_capability=lambda member, index: member == 8)
    configure(trt, config, "tensorrt-rtx", EngineOptions(compute_capabilities=("8.9",)))
    with pytest.raises(InputError, match=r"compute_capabilities: tensorrt_rtx 1.7.1 refuses 12.0"):
        configure(trt, config, "tensorrt-rtx", EngineOptions(compute_capabilities=("8.9", "12.0")))


@pytest.mark.parametrize("good", [True, False])
def test_plugins_that_are_not_to_be_had(caplog: pytest.LogCaptureFixture, *, good: bool) -> None:
    parser = types.SimpleNamespace(parse_from_file=lambda path: True)
    trt: Any = types.SimpleNamespace(
        __name__="tensorrt", init_libnvinfer_plugins=lambda log, scope: good, OnnxParser=lambda network, log: parser
    )
    assert parse(trt, types.SimpleNamespace(num_outputs=1), None, "m.onnx") is parser
    assert ("tensorrt: its plugins are not available" in caplog.text) != good
