"""Custom nodes in ONNX Runtime, by onnxruntime-extensions in a process of its own."""

from collections.abc import Iterator
from importlib import import_module

import numpy as np
import onnx
import pytest

from rewriters.symbolic import kernels
from rewriters.symbolic.extensions import run_with_extensions
from zoo.errors import BackendUnavailableError, ExportError

MODEL = onnx.parser.parse_model(
    '<ir_version: 10, opset_import: ["" : 20, "mydomain" : 1]>'
    "m (float[2] a, float[2] b) => (float[2] c) { c = mydomain.TwoAPlusB(a, b) }"
)
A, B = np.array([1.0, 2.0], np.float32), np.array([0.5, 0.25], np.float32)


@pytest.fixture(autouse=True)
def declared() -> Iterator[None]:
    saved = dict(kernels.KERNELS)
    module = import_module("tests.rewriters.symbolic.two_a_plus_b.two_a_plus_b_kernel")
    kernels.KERNELS.pop("mydomain::TwoAPlusB", None)
    kernels.kernel("mydomain::TwoAPlusB")(module.two_a_plus_b)
    yield
    kernels.KERNELS.clear()
    kernels.KERNELS.update(saved)


@pytest.mark.slow
def test_the_kernel_runs_in_onnxruntime() -> None:
    pytest.importorskip("onnxruntime_extensions", reason="needs the extra extensions")
    (got,) = run_with_extensions(MODEL, {"a": A, "b": B})
    np.testing.assert_array_equal(got, 2 * A + B)


@pytest.mark.slow
def test_an_exception_in_a_kernel_ends_its_process_alone() -> None:
    pytest.importorskip("onnxruntime_extensions", reason="needs the extra extensions")
    with pytest.raises(ExportError, match="onnxruntime-extensions failed.*on purpose"):
        run_with_extensions(MODEL, {"a": -np.ones(2, np.float32), "b": B})


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewriters.symbolic.extensions.find_spec", lambda name: None)
    with pytest.raises(BackendUnavailableError, match="install onnxruntime-extensions"):
        run_with_extensions(MODEL, {"a": A, "b": B})


def test_a_kernel_in_the_script_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewriters.symbolic.extensions.find_spec", lambda name: object())
    monkeypatch.setattr(kernels.KERNELS["mydomain::TwoAPlusB"].function, "__module__", "__main__")
    with pytest.raises(ExportError, match="mydomain::TwoAPlusB is declared in the script.*put it in a module"):
        run_with_extensions(MODEL, {"a": A, "b": B})


def test_a_run_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewriters.symbolic.extensions.find_spec", lambda name: object())
    monkeypatch.setattr("rewriters.symbolic.extensions.LIMIT", 0.01)
    with pytest.raises(ExportError, match=r"did not end within 0\.01 s"):
        run_with_extensions(MODEL, {"file": A, "b": B})


@pytest.mark.slow
def test_an_input_called_file() -> None:
    pytest.importorskip("onnxruntime_extensions", reason="needs the extra extensions")
    text = "m (float[2] file, float[2] b) => (float[2] c) { c = mydomain.TwoAPlusB(file, b) }"
    model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 20, "mydomain" : 1]>' + text)
    (got,) = run_with_extensions(model, {"file": A, "b": B})
    np.testing.assert_array_equal(got, 2 * A + B)
