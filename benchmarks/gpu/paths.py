"""Where the kit keeps what it makes: a folder that git ignores."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "work_dirs/gpu"
WHEELS = FOLDER / "wheels"
PIECES = FOLDER / "pieces"
SITE = FOLDER / "site"
SCRATCH = FOLDER / "scratch"
FINDINGS = FOLDER / "findings"
