"""A library that is installed and broken: exit code 4, and one line that names it, its error and what reinstalls it."""

import subprocess
import sys
from pathlib import Path
from sysconfig import get_config_var

import pytest

ROOT = Path(__file__).parents[2]
LOAD = """
import sys
from backends import load
from zoo.errors import BackendUnavailableError
try:
    load(sys.argv[1])
except BackendUnavailableError as error:
    print(error)
    sys.exit(error.exit_code)
"""


def broken(folder: Path, library: str) -> Path:
    """A folder with the library in it, whose compiled part is cut off."""
    package = folder / library
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"from {library} import _compiled\n")
    (package / f"_compiled{get_config_var('EXT_SUFFIX')}").write_bytes(b"\x7fELF, and no more")
    return folder


def run(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A process that finds the libraries in `folder` first."""
    command = [sys.executable, *map(str, arguments)]
    environment = {"PYTHONPATH": f"{folder}:{ROOT}"}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)


def test_a_deploy_for_it_says_so_before_torch_is_imported(tmp_path: Path) -> None:
    folder = broken(tmp_path / "first", "openvino")
    (folder / "torch.py").write_text("raise SystemExit('torch was imported')")
    config = ROOT / "configs/segmentation/fcn_r18_digits.py"
    done = run(folder, "tools/deploy.py", config, "--backend", "openvino", "--work-dir", tmp_path / "work")
    assert (done.returncode, done.stderr.count("\n")) == (4, 1), done.stderr
    assert done.stderr.startswith(
        "error: backend openvino is not available: openvino is installed, but cannot be imported ("
    )
    assert f"_compiled{get_config_var('EXT_SUFFIX')}: " in done.stderr
    assert done.stderr.endswith("); install it again: pip install --force-reinstall openvino\n")
    assert not (tmp_path / "work").exists()


def test_a_deployment_of_it_is_not_loaded(tmp_path: Path, detector: Path) -> None:
    done = run(broken(tmp_path, "onnxruntime"), "-c", LOAD, detector)
    assert (done.returncode, done.stderr) == (4, "")
    assert done.stdout.startswith(
        "backend onnxruntime is not available: onnxruntime is installed, but cannot be imported ("
    )
    assert done.stdout.endswith("); install it again: pip install --force-reinstall onnxruntime\n")


@pytest.mark.parametrize(("library", "package"), [("torch", "zooport[export]"), ("yaml", "zooport[evaluate]")])
def test_a_tool_that_needs_it_says_so(tmp_path: Path, library: str, package: str) -> None:
    arguments = {"torch": ["evaluate", "configs/segmentation/fcn_r18_digits.py"], "yaml": ["regression", "small.yaml"]}
    tool, argument = arguments[library]
    done = run(broken(tmp_path, library), f"tools/{tool}.py", argument)
    assert (done.returncode, done.stderr.count("\n")) == (4, 1), done.stderr
    assert done.stderr.startswith(f"error: {library} is installed, but cannot be imported (")
    assert done.stderr.endswith(f'); install it again: pip install --force-reinstall "{package}"\n')
