"""The packages of the peers in a folder of their own, unpacked and not installed."""

import subprocess
import sys
import zipfile
from pathlib import Path

from mmdeploy_peer_rows import HELPERS, PEERS

from zoo.errors import BackendUnavailableError

WHEELS = {
    "onedl-mmdeploy": ("onedl-mmdeploy==1.5.2", "--platform", "win_amd64", "--python-version", "310"),
    "mmdeploy": ("mmdeploy==1.3.1", "--platform", "manylinux2014_x86_64"),
}
"""onedl-mmdeploy has wheels for Windows alone; its Python files, which this benchmark takes, run everywhere."""
HELPER_PACKAGES = ("aenum", "multiprocess", "dill")
"""What both import, and zooport's extras do not have."""


def fetch(folder: Path) -> None:
    """Fill the folder. Raises BackendUnavailableError where pip fails."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, options in WHEELS.items():
        wheels = folder / "wheels" / name
        pip("download", "--only-binary=:all:", "--no-deps", "--dest", str(wheels), *options)
        (wheel,) = wheels.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder / name)
    pip("install", "--no-deps", "--target", str(folder / HELPERS), *HELPER_PACKAGES)


def pip(*arguments: str) -> None:
    """Raises BackendUnavailableError with its last line."""
    done = subprocess.run([sys.executable, "-m", "pip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        words = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise BackendUnavailableError(f"pip {arguments[0]}: {words}")


def check(folder: Path | None) -> None:
    """Raises BackendUnavailableError where the folder is not given, or lacks a package."""
    missing = [name for name in (*PEERS, HELPERS) if folder is None or not (folder / name).is_dir()]
    if missing:
        place = "--peer is not given" if folder is None else f"--peer {folder}: no {', '.join(missing)}"
        raise BackendUnavailableError(
            f"{place}; run `python benchmarks/mmdeploy_peer.py --fetch DIR` and give --peer DIR, or give --tools "
            "without the peers"
        )
