"""A folder or module of the user's that hides one of zooport's packages: one line, or no matter at all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(command: list[str], folder: Path, python_path: str = str(ROOT)) -> subprocess.CompletedProcess[str]:
    """Python in a folder, with zooport behind whatever else is on its path."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": python_path}
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def hide(folder: Path, what: str) -> Path:
    """A package of the user's, a plain folder without __init__.py, or a module."""
    path = folder / what
    path.parent.mkdir(exist_ok=True)
    path.write_text("raise SystemExit('code of the user ran')\n", encoding="utf-8")
    return path if what == "pipeline.py" else path.parent


@pytest.mark.parametrize("what", ["zoo/__init__.py", "pipeline.py", "backends/__init__.py", "rewriters/__init__.py"])
@pytest.mark.parametrize("code", ["from zooport import load", "import zooport; zooport.list_models"])
def test_python_says_what_hides_what(tmp_path: Path, what: str, code: str) -> None:
    hiding = hide(tmp_path, what)
    script = tmp_path / "mine.py"
    script.write_text(code, encoding="utf-8")
    done = run([str(script)], tmp_path)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    name = what.partition("/")[0].removesuffix(".py")
    assert last.startswith(
        f"zooport.own_packages.HiddenPackageError: {hiding} hides zooport's own package {ROOT / name}; rename it, or "
        f"take {tmp_path} off Python's path"
    )


def test_a_package_of_the_users_that_is_imported_already_is_named(tmp_path: Path) -> None:
    (tmp_path / "zoo.py").write_text("", encoding="utf-8")
    (tmp_path / "mine.py").write_text("import zoo\nfrom zooport import Target", encoding="utf-8")
    done = run(["mine.py"], tmp_path)
    assert f"HiddenPackageError: {tmp_path / 'zoo.py'} hides zooport's own package" in done.stderr


def test_the_command_runs_in_a_folder_that_has_a_zoo_and_a_pipeline(tmp_path: Path) -> None:
    hide(tmp_path, "zoo/__init__.py")
    hide(tmp_path, "pipeline.py")
    done = run(["-m", "zooport", "deploy", "none.py"], tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: config none.py: no such file")
    done = run([str(ROOT / "tools" / "deploy.py"), "none.py"], tmp_path)
    assert done.stderr.startswith("error: config none.py: no such file")


def test_the_command_says_in_one_line_what_pythonpath_hides(tmp_path: Path) -> None:
    hiding = hide(tmp_path, "zoo/__init__.py")
    done = run(["-P", "-m", "zooport", "list"], tmp_path, os.pathsep.join((str(tmp_path), str(ROOT))))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {hiding} hides zooport's own package {ROOT / 'zoo'}; rename it")
    assert done.stderr.count("\n") == 1


def test_the_other_packages_are_not_imported_for_the_name_alone() -> None:
    code = "import sys, zooport; dir(zooport); print({'zoo', 'numpy', 'torch'} & set(sys.modules))"
    assert run(["-c", code], ROOT).stdout == "set()\n"
