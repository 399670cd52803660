"""A folder with matrices, configs and a fake of zooport that does what the configs tell it to."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipeline.regression import Regression, fingerprint, load_matrix, run_matrix
from pipeline.regression.result import Result

FAKE = (sys.executable, str(Path(__file__).parent / "fake_tool.py"))


@dataclass(frozen=True)
class World:
    """Configs and a matrix of them in a folder."""

    folder: Path

    @property
    def work_dir(self) -> Path:
        return self.folder / "work"

    @property
    def matrix(self) -> Path:
        return self.folder / "nightly.yaml"

    def make(self, monkeypatch: pytest.MonkeyPatch) -> "World":
        """Results depend on no source: somebody may be editing the packages."""
        monkeypatch.setattr(fingerprint, "PACKAGES", ())
        return self

    def config(self, name: str, **acts: str) -> Path:
        path = self.folder / f"{name}.py"
        path.write_text(f"# {json.dumps(acts)}\n", encoding="utf-8")
        return path

    def write(self, **fields: Any) -> Path:
        """A matrix of all configs for one column, with some keys of its own."""
        keys = {"models": [str(self.folder / "*.py")], "exporters": ["dynamo"], **fields}
        self.matrix.write_text(json.dumps(keys), encoding="utf-8")  # JSON is YAML
        return self.matrix

    def run(self, **options: Any) -> Regression:
        return run_matrix(load_matrix(self.matrix), FAKE, self.work_dir, **options)

    def calls(self, name: str) -> list[str]:
        """What was run for a config so far."""
        path = self.folder / f"{name}.calls"
        return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []

    def outcome(self, **acts: str) -> Result:
        """Of a single cell."""
        self.config("model", **acts)
        self.write()
        found = self.run()
        return found.cells[0][1]

    def assert_ended(self, name: str) -> None:
        """Neither the process that hangs for a config nor its child lives."""
        pids = (self.folder / f"{name}.pids").read_text(encoding="utf-8").split()
        assert len(pids) == 2
        for pid in pids:
            status = Path("/proc", pid, "status")
            assert not status.is_file() or "State:\tZ" in status.read_text(encoding="utf-8")  # its new parent is slow
