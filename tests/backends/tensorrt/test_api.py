"""Every attribute that backends/tensorrt uses exists in NVIDIA's libraries: found by reading our own source."""

import ast
import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.backends.tensorrt.api import OBJECTS, RTX_ONLY
from tests.backends.tensorrt.api_scan import Use, faults, uses

FOLDER = Path(__file__).resolve().parents[3] / "backends" / "tensorrt"
SOURCES = sorted(path for path in FOLDER.rglob("*.py") if path.parent.name != "preflight")  # rows read graphs alone
TREES = {path.relative_to(FOLDER).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}
USED = sorted({(use.owner, use.chain) for tree in TREES.values() for use in uses(tree)})
RUNTIME_ONLY = ("Runtime", "ICudaEngine", "IExecutionContext")  # all that the lean runtime has


def lacks(module: ModuleType, owner: str, chain: tuple[str, ...]) -> bool:
    """Whether the module has no such class, or the class no such attribute. Constructs nothing."""
    here: Any = module
    for name in (*filter(None, owner.split(".")), *chain):
        if inspect.isdatadescriptor(here):
            return True  # the type of what a property gives is not known: it must be named first
        if not hasattr(here, name):
            return True
        here = getattr(here, name)
    return False


def imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (ImportError, OSError, RuntimeError) as error:
        pytest.skip(f"{name} cannot be imported: {error}")


@pytest.mark.parametrize("source", TREES)
def test_no_object_of_the_library_is_hidden_from_the_scan(source: str) -> None:
    assert list(faults(TREES[source])) == []


def test_the_scan_finds_what_a_build_needs() -> None:
    assert {
        ("Builder", ("build_serialized_network",)),
        ("OnnxParser", ("parse_from_file",)),
        ("", ("BuilderFlag", "TF32")),
        ("IOptimizationProfile", ("set_shape_input",)),
    } <= set(USED)


@pytest.mark.tensorrt
def test_all_are_in_tensorrt_rtx() -> None:
    module = imported("tensorrt_rtx")
    assert [use for use in USED if lacks(module, *use)] == []


@pytest.mark.tensorrt
def test_all_are_in_tensorrt() -> None:
    module = imported("tensorrt")
    assert [
        (owner, chain) for owner, chain in USED if (owner, chain[0]) not in RTX_ONLY and lacks(module, owner, chain)
    ] == []


@pytest.mark.tensorrt
def test_those_of_running_are_in_tensorrt_lean() -> None:
    module = imported("tensorrt_lean")  # its Runtime is not constructed: without a GPU that is a segmentation fault
    assert [use for use in USED if use[0] in RUNTIME_ONLY and lacks(module, *use)] == []


@pytest.mark.tensorrt
@pytest.mark.parametrize(
    "code",
    [
        "config.set_calibrator(x)",
        "trt.BuilderFlag.FP16",
        "self._network.get_layers()",
        "builder.max_workspace_size = 1",
    ],
)
def test_a_name_that_is_not_there_is_found(code: str) -> None:
    module = imported("tensorrt_rtx")
    assert [use for use in uses(ast.parse(code)) if lacks(module, use.owner, use.chain)]


@pytest.mark.tensorrt
def test_every_class_of_the_convention_exists() -> None:
    module = imported("tensorrt_rtx")
    assert [name for name, owner in OBJECTS.items() if owner and lacks(module, owner, ())] == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("mystery = builder.create_network(0)", '"mystery" holds something of the library'),
        ("for thing in network.items(): pass", '"thing" holds something of the library'),
        ("x = network.get_input(0).name", ".name of a call's result"),
        ("self._mine = trt.Builder(log)", '"mine" holds something of the library'),
    ],
)
def test_a_hidden_object_is_found(code: str, found: str) -> None:
    assert found in " ".join(faults(ast.parse(code)))


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("loaded.engine.create_execution_context()", [("ICudaEngine", ("create_execution_context",))]),
        ("self._loaded.trt.Logger", [("", ("Logger",))]),
        ("tensor.dtype.name", [("ITensor", ("dtype",)), ("DataType", ("name",))]),
        ("self._context = engine", []),
    ],
)
def test_an_object_is_seen_wherever_it_stands_in_a_chain(code: str, found: list[tuple[str, tuple[str, ...]]]) -> None:
    assert [(use.owner, use.chain) for use in uses(ast.parse(code))] == found


def test_what_the_runner_does_with_an_engine_is_among_the_uses() -> None:
    mutated = (
        (FOLDER / "execution.py").read_text(encoding="utf-8").replace(".create_execution_context(", ".create_kontext(")
    )
    assert ("ICudaEngine", ("create_kontext",)) in {(use.owner, use.chain) for use in uses(ast.parse(mutated))}


def test_a_chain_is_read_whole() -> None:
    assert uses(ast.parse("a = self._config.set_flag(trt.BuilderFlag.TF32)")) == [
        Use("IBuilderConfig", ("set_flag",), 1),
        Use("", ("BuilderFlag", "TF32"), 1),
    ]
