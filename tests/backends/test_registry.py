"""Which backends are found, and what becomes of those of others."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backends import registry
from backends.backend import Backend
from backends.registry import backends, get_backend, register
from zoo.dialect import Dialect, dialect_of
from zoo.errors import InputError
from zoo.target import DEFAULT_BACKEND, REFERENCE_BACKEND


class Another(Backend):
    name = "another"
    title = "Another"
    library = "json"
    install = "nothing"
    dialect = Dialect(lacks=frozenset({"GridSample"}))

    def open(self, folder: Any, manifest: Any, options: Any) -> Any:
        raise NotImplementedError

    def open_graph(
        self, path: Any, inputs: Any = None, outputs: Any = None, axes: Any = None, target: Any = None
    ) -> Any:
        raise NotImplementedError


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it."""
    monkeypatch.setattr(registry, "_BACKENDS", dict(backends()))


def test_each_folder_registers_its_own() -> None:
    folders = {path.parent.name for path in Path(registry.__file__).parent.glob("*/backend.py")}
    assert folders == {type(backend).__module__.split(".")[1] for backend in backends().values()}
    assert {DEFAULT_BACKEND, REFERENCE_BACKEND} <= set(backends())
    for name, backend in backends().items():
        assert backend.name == name
        assert backend.title
        assert backend.install
        assert dialect_of(name) is backend.dialect


def test_looking_for_them_loads_no_library() -> None:
    code = (
        "import sys\nfrom backends.registry import backends\n"
        "libraries = {backend.library for backend in backends().values()} | {'onnx', 'torch'}\n"
        "print(sorted(libraries & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_backend_of_others_is_registered_once() -> None:
    one = register(Another())
    assert get_backend("another") is one
    assert dialect_of("another").lacks == {"GridSample"}
    anew = type("Another", (Another,), {"__module__": __name__})
    assert register(anew()) is get_backend("another")  # its module was imported again
    taken = type("Taken", (Another,), {})
    with pytest.raises(InputError, match='backend "another" of .*test_registry has registered that name; choose'):
        register(taken())


def test_an_entry_point_is_imported_when_it_is_asked_for(install: Callable[..., None]) -> None:
    install(
        registry.ENTRY_POINTS,
        "entered",
        "entered",
        "from backends import register\nfrom tests.backends.test_registry import Another\n"
        "class Entered(Another):\n    name = 'entered'\nregister(Entered())\n",
    )
    get_backend(DEFAULT_BACKEND)
    assert "entered" not in sys.modules
    assert get_backend("entered").title == "Another"
    assert "entered" in backends()


def test_an_entry_point_that_cannot_be_imported(install: Callable[..., None], caplog: pytest.LogCaptureFixture) -> None:
    install(registry.ENTRY_POINTS, "broken", "no_such_module_at_all")
    assert "broken" not in backends()
    assert "broken" not in backends()
    (record,) = caplog.records  # once
    words = (
        "entry point broken of outside (zooport.backends): no_such_module_at_all cannot be imported: "
        "ModuleNotFoundError: No module named 'no_such_module_at_all'; fix or uninstall outside"
    )
    assert record.getMessage() == words
    with pytest.raises(InputError, match=f"^{re.escape(words)}$"):
        get_backend("broken")


def test_an_entry_point_that_registers_nothing(install: Callable[..., None], caplog: pytest.LogCaptureFixture) -> None:
    install(registry.ENTRY_POINTS, "silent", "json")
    words = "registers no backend of that name; call backends.register in that module"
    with pytest.raises(InputError, match=words):
        get_backend("silent")
    assert "silent" not in backends()
    assert words in caplog.text


def test_a_dialect_before_anything_is_registered() -> None:
    code = (
        "from zoo.dialect import dialect_of\nprint(dialect_of('onnxruntime').operator_form)\n"
        "try:\n    dialect_of('tensorrt')\nexcept Exception as error:\n    print(error)\n"
        "import backends; backends.available(); print(dialect_of('tensorrt').operator_form)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, refused, last = done.stdout.splitlines()
    assert (first, last) == ("runtime", "standard")
    assert refused == 'unknown backend "tensorrt"; none is registered yet: call backends.available() first'


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match='unknown backend "onnxruntim"; nearest: "onnxruntime"'):
        get_backend("onnxruntim")
