"""The commands of docs/own_data.md, from a COCO file to a proved deployment."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "own_data.md"
PROGRAMS = {"zooport": [sys.executable, "-m", "zooport"], "python": [sys.executable]}


def walk() -> list[list[str]]:
    """The commands of the page's first section."""
    section = PAGE.read_text(encoding="utf-8").split("\n## ")[1]
    lines = [shlex.split(line) for line in section.splitlines() if line.startswith("    ")]
    return [[*PROGRAMS[program], *arguments] for program, *arguments in lines]


def test_the_walk_has_all_its_steps() -> None:
    verbs = [command[3] if command[2] == "zooport" else command[2] for command in walk()]
    assert verbs == ["zoo.datasets.shapes", "init", "train", "deploy", "deploy", "evaluate"]


@pytest.mark.slow
def test_a_coco_file_becomes_a_proved_deployment(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "2"}
    for command in walk():
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=3600
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    folders = sorted(str(path.parent) for path in tmp_path.rglob("deployment.json"))
    assert len(folders) == 2
    evaluate = [*PROGRAMS["zooport"], "evaluate", "shapes.py", "--deployment", *folders, "--json", "figures.json"]
    subprocess.run(evaluate, cwd=tmp_path, env=environment, check=True, capture_output=True, timeout=3600)
    reference, *rows = json.loads((tmp_path / "figures.json").read_text())["rows"]
    assert reference["figures"]["coco/box_AP"] >= 50
    assert [row["difference"] for row in rows] == [0.0, 0.0]
