"""What all tools share: missing libraries, quick help, unknown flags, and one-line errors of the smaller tools."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCKED = """
import runpy, sys
sys.modules.update(dict.fromkeys(sys.argv[2].split(",")))
sys.argv[:] = [sys.argv[1], *sys.argv[3:]]
sys.path.insert(0, "tools")
runpy.run_path(sys.argv[0], run_name="__main__")
"""
CONFIG = "configs/segmentation/fcn_r18_digits.py"
MATRIX = "configs/regression/small.yaml"
HEAVY = "torch,mmengine,rich,sklearn,skimage,pycocotools,cv2"


def run(tool: str, blocked: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A tool in a process that lacks some libraries."""
    command = [sys.executable, "-c", BLOCKED, f"tools/{tool}.py", blocked, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env={"PYTHONPATH": str(ROOT)})


@pytest.mark.parametrize(
    ("tool", "library", "extra", "arguments"),
    [
        *(
            pytest.param("deploy", library, "export", [CONFIG], marks=pytest.mark.slow)
            for library in ("rich", "torch", "mmengine", "jinja2", "scipy")
        ),
        ("train", "torch", "export", [CONFIG]),
        pytest.param("evaluate", "pycocotools", "evaluate", [CONFIG], marks=pytest.mark.slow),
        ("evaluate", "torch", "export", [CONFIG]),
        ("regression", "yaml", "evaluate", [MATRIX]),
        ("regression", "jinja2", "export", [MATRIX]),
        ("make_digits", "pycocotools", "evaluate", ["val", "--out", "work_dirs/never"]),
    ],
)
def test_a_missing_library_is_named_with_what_installs_it(
    tool: str, library: str, extra: str, arguments: list[str]
) -> None:
    done = run(tool, library, *arguments)
    assert done.returncode == 4, done.stderr
    assert done.stderr == f'error: {library} is not installed, and this needs it: pip install "zooport[{extra}]"\n'


@pytest.mark.parametrize(
    "tool", ["deploy", "evaluate", "train", "make_digits", "regression", "update_zoo", "check_export", "what_if"]
)
def test_help_and_wrong_flags_load_no_library(tool: str) -> None:
    done = run(tool, HEAVY, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "example" in done.stdout
    done = (
        run(tool, HEAVY, "x", "--verbos") if tool != "make_digits" else run(tool, HEAVY, "val", "--out=x", "--verbos")
    )
    assert done.returncode == 2
    assert done.stderr.startswith('error: unknown argument --verbos; nearest: "--verbose"')


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="no /sys on this system")
@pytest.mark.parametrize(
    ("tool", "flag", "arguments"),
    [
        pytest.param("train", "--work-dir", [CONFIG], marks=pytest.mark.slow),
        ("regression", "--work-dir", [MATRIX]),
        ("make_digits", "--out", ["val"]),
    ],
)
def test_an_unwritable_folder_is_the_users(tool: str, flag: str, arguments: list[str]) -> None:
    done = run(tool, "none", *arguments, flag, "/sys/zooport")
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: /sys/zooport")
    assert done.stderr.endswith(f" give another {flag}\n")
    assert done.stderr.count("\n") == 1
