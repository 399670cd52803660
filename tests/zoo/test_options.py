"""Options of engines and of precisions."""

from typing import Any

import pytest

from backends.engine_options import EngineOptions
from zoo.errors import InputError
from zoo.precision_options import PrecisionOptions


def test_lists_of_a_config_become_tuples() -> None:
    engine = EngineOptions.from_dict({"compute_capabilities": ["8.9", "12.0"], "batches": [1, 8]})
    assert engine == EngineOptions(compute_capabilities=("8.9", "12.0"), batches=(1, 8))
    assert PrecisionOptions.from_dict({"keep_fp32": ["head.*"]}).keep_fp32 == ("head.*",)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"workspace": 1}, 'unknown engine option "workspace"; nearest: "workspace_mib"'),
        ({"workspace_mib": 0}, "workspace_mib is 0, expected an integer from 1 to"),
        ({"workspace_mib": 10**14}, "workspace_mib is 100000000000000, expected an integer from 1 to 1000000000"),
        ({"timeout_seconds": True}, "timeout_seconds is True"),
        ({"optimization_level": 6}, "optimization_level is 6, expected 0 to 5"),
        ({"refittable": 1}, "refittable is 1, expected True or False"),
        ({"compute_capabilities": ["sm89"]}, "'sm89' is not one; expected for example 8.9"),
        ({"batches": [0]}, "got 0, expected an integer, 1 or more"),
        ({"batches": 8}, r"batches is 8, expected a list, such as \[1, 8\]"),
        ({"compute_capabilities": 8.9}, "compute_capabilities is 8.9, expected a list"),
        ({"compute_capabilities": "8.9"}, "compute_capabilities is '8.9', expected a list"),
    ],
)
def test_a_wrong_engine_option_is_reported(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        EngineOptions.from_dict(given)


def test_what_is_named_twice_counts_once() -> None:
    options = EngineOptions(compute_capabilities=("8.9", "12.0", "8.9"), batches=(4, 4, 1))
    assert (options.compute_capabilities, options.batches) == (("8.9", "12.0"), (4, 1))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"keep": []}, 'unknown precision option "keep"; nearest: "keep_fp32"'),
        ({"keep_fp32": [1]}, "1 is not the name of a module"),
        ({"keep_fp32": 3}, "keep_fp32 is 3, expected a list of modules' names"),
        ({"keep_fp32": "head"}, "keep_fp32 is 'head', expected a list of modules' names"),
        ({"half_io": 1}, "half_io is 1"),
        ({"calibration_images": 0}, "calibration_images is 0, expected 1 or more images"),
        ({"calibration_method": "max"}, 'calibration_method is "max"; nearest: "minmax"'),
    ],
)
def test_a_wrong_precision_option_is_reported(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        PrecisionOptions.from_dict(given)
