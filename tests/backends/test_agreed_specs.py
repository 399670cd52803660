"""What a file says of its tensors, beside what was described."""

from pathlib import Path

import pytest

from backends.agreed_specs import agreed_specs
from zoo.errors import InputError
from zoo.tensor_spec import TensorSpec

PATH = Path("model.onnx")
ACTUAL = (TensorSpec("x", "float32", ("N", 3)), TensorSpec("scale", "int64", ()))


def test_without_a_request_they_are_the_files() -> None:
    assert agreed_specs(PATH, "input", iter(ACTUAL), None) == ACTUAL


@pytest.mark.parametrize("requested", [("x", (4, 3)), ("x", ("batch", 3)), ("x", ("N", "C")), ("scale", (1,))])
def test_sizes_that_one_side_does_not_know_agree(requested: tuple[str, tuple[int | str, ...]]) -> None:
    name, shape = requested
    spec = TensorSpec(name, "float32" if name == "x" else "int64", shape)
    assert agreed_specs(PATH, "input", ACTUAL, [spec]) == (spec,)


@pytest.mark.parametrize(
    "spec",
    [
        TensorSpec("y", "float32", ("N", 3)),
        TensorSpec("x", "float16", ("N", 3)),
        TensorSpec("x", "float32", ("N", 4)),
        TensorSpec("x", "float32", ("N", 3, 1)),
    ],
    ids=["name", "dtype", "size", "rank"],
)
def test_what_differs_is_refused(spec: TensorSpec) -> None:
    with pytest.raises(InputError) as caught:
        agreed_specs(PATH, "input", ACTUAL, [spec])
    words = f"{PATH}: got the inputs {', '.join(map(str, ACTUAL))}; expected {spec}; the file is not the one that was "
    assert str(caught.value).startswith(words)
