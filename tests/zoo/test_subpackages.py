"""The folder of a name is imported alone; without one, all folders are."""

import sys
from pathlib import Path

import pytest

from zoo.subpackages import import_subpackage, import_subpackages


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = "package_of_folders"
    for folder in ("", "first_task", "second_task"):
        (tmp_path / name / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / folder / "__init__.py").touch()
    (tmp_path / name / "proof.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


@pytest.mark.parametrize(
    ("folder", "imported"),
    [
        ("first-task", ["first_task"]),
        ("second_task", ["second_task"]),
        *(
            (name, ["first_task", "second_task"])
            for name in ("proof", "absent", "first_task.inner", "..first_task", "")
        ),
    ],
)
def test_the_folder_of_a_name_is_imported_alone(package: str, folder: str, imported: list[str]) -> None:
    import_subpackage(package, folder)
    below = [name.partition(".")[2] for name in sys.modules if name.startswith(f"{package}.")]
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]
    import_subpackage.cache_clear()
    import_subpackages.cache_clear()
    assert below == imported
