"""The public Python API is what the packages say it is, and nothing more."""

import importlib
import inspect
import pkgutil
import types

import pytest

SURFACE = {
    "zoo": {"Target", "build_model", "list_models"},
    "rewriters": {"ExportRecord", "export_onnx", "rewrites", "rewriting"},
    "backends": {"Backend", "Deployment", "Runner", "available", "load", "register"},
    "pipeline": {"align", "deploy", "evaluate"},
    "zooport": {
        "Target",
        "align",
        "build_model",
        "deploy",
        "evaluate",
        "export_onnx",
        "list_models",
        "load",
        "rewrites",
    },
}
PACKAGES = [
    module.name
    for top in SURFACE
    for module in (
        types.SimpleNamespace(name=top, ispkg=True),
        *pkgutil.walk_packages(importlib.import_module(top).__path__, f"{top}."),
    )
    if module.ispkg
]
LAZY_AIDS = {"TYPE_CHECKING", "lazy_names"}  # what a lazy __init__ is made of
LAZY_AIDS |= {"Any", "check_packages", "import_module"}  # of zooport: zoo.lazy_names may be another's


@pytest.mark.parametrize("package", SURFACE)
def test_all_is_the_surface(package: str) -> None:
    module = importlib.import_module(package)
    assert set(module.__all__) == SURFACE[package]
    for name in module.__all__:
        assert (getattr(module, name).__doc__ or "").strip(), f"{package}.{name} has no docstring"


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_else_looks_public(package: str) -> None:
    try:
        module = importlib.import_module(package)
    except ModuleNotFoundError as error:  # rewriters of another library's models
        pytest.skip(f"{error.name} is not installed; make test-all installs it")
    accidental = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and name not in getattr(module, "__all__", ())
        and not isinstance(value, types.ModuleType)
        and name not in LAZY_AIDS
        and getattr(value, "__module__", package) != package  # its own definitions are not accidents
    }
    assert not accidental, f"{package} exposes {sorted(accidental)}"


@pytest.mark.parametrize("package", SURFACE)
def test_unknown_names_are_attribute_errors(package: str) -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = importlib.import_module(package).no_such_name


def test_signatures_of_the_verbs() -> None:
    from pipeline import align, deploy, evaluate

    assert list(inspect.signature(align).parameters)[:3] == ["config", "target", "images"]
    assert list(inspect.signature(deploy).parameters)[:3] == ["config", "target", "images"]
    assert list(inspect.signature(evaluate).parameters)[:3] == ["config", "backends", "deployments"]
