"""Packages for a machine with a GPU and no network: downloaded here, carried in pieces, installed there.

    python benchmarks/gpu/wheels.py make       # here: downloads wheels, splits them into work_dirs/gpu/pieces
    python benchmarks/gpu/wheels.py install    # there: checks the pieces, joins them, installs into work_dirs/gpu/site

The pieces may arrive one by one: `install` names those that are still missing (exit code 4). It needs pip, and neither
a network nor rights: benchmarks/gpu/run.py finds the folder.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:1] = [str(ROOT), str(ROOT / "benchmarks")]

from gpu.fewer_kernels import shrink
from gpu.needs import PYTHON, THERE, lacking
from gpu.paths import PIECES, SITE, WHEELS
from gpu.pieces import Index, join, missing, split
from zoo.errors import BackendUnavailableError, InputError, ZooportError

PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "manylinux_2_5_x86_64")
LATEST = ("onnxruntime-gpu>=1.30",)  # beside its own runtime, which is the build for CPUs
AS_HERE = (
    *("mmengine", "addict", "termcolor", "yapf", "platformdirs"),  # configs, training
    *("onnx-graphsurgeon", "onnxslim", "colorama"),  # graphs
    *("pycocotools",),  # metrics
    *("bokeh", "tornado", "xyzservices", "argcomplete"),  # reports, the command line
    *("tensorrt-rtx-cu13-libs", "tensorrt-rtx-cu13-bindings"),  # engines
)
"""In the versions that are installed here, which are those that were tested."""
FROM_SOURCE = ("tensorrt-rtx", "tensorrt-rtx-cu13")  # a name, and the module's few lines of Python, without wheels
MEBIBYTE = 2**20
PIECE = 14  # MiB: with this repository, of 45 MiB, less than the 64 that a batch may have
LARGEST_PIECE = 55


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the pieces, or install them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("make", "install"))
    parser.add_argument("--pieces", type=Path, default=PIECES, metavar="D", help="folder of the pieces")
    parser.add_argument("--wheels", type=Path, default=WHEELS, metavar="D", help="folder of the wheels")
    parser.add_argument("--site", type=Path, default=SITE, metavar="D", help="folder to install into")
    parser.add_argument("--piece-mib", type=int, default=PIECE, metavar="N", help=f"at most {LARGEST_PIECE}")
    parser.add_argument(
        "--capability", type=_capability, metavar="N", help="the device's, such as 9.0: other kernels stay here"
    )
    parser.add_argument("--also", nargs="+", default=[], metavar="NAME", help="more packages, as pip takes them")
    options = parser.parse_args(arguments)
    try:
        return _make(options) if options.what == "make" else _install(options)
    except ZooportError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


def _make(options: argparse.Namespace) -> int:
    if not 1 <= options.piece_mib <= LARGEST_PIECE:
        raise InputError(f"--piece-mib {options.piece_mib}: expected 1 to {LARGEST_PIECE}")
    options.wheels.mkdir(parents=True, exist_ok=True)
    for wheel in options.wheels.glob("*.whl"):  # of another version: two of them cannot be installed
        wheel.unlink()
    platforms = [flag for platform in PLATFORMS for flag in ("--platform", platform)]
    there = ["--only-binary=:all:", "--python-version", PYTHON, "--implementation", "cp", *platforms]
    named = [*LATEST, *map(_as_here, AS_HERE), *options.also]
    _pip("download", "--no-deps", *there, "--dest", str(options.wheels), *named)
    _pip("wheel", "--no-deps", "--wheel-dir", str(options.wheels), *map(_as_here, FROM_SOURCE))
    wheels = sorted(options.wheels.glob("*.whl"))
    if absent := lacking(wheels, dict.fromkeys(THERE)):
        raise InputError(
            f"{options.wheels}: nothing brings {', '.join(absent)}; add it by --also, or to THERE in "
            "benchmarks/gpu/needs.py if the machine has it"
        )
    if options.capability is not None:
        saved = sum(shrink(wheel, options.capability) for wheel in wheels)
        print(f"{saved / MEBIBYTE:.0f} MiB of kernels for other devices were left out")
    index = split(wheels, options.pieces, options.piece_mib * MEBIBYTE)
    size = sum(piece.bytes for piece in index.pieces) / MEBIBYTE
    print(f"{len(index.files)} wheels, {size:.0f} MiB, in {len(index.pieces)} pieces: {options.pieces}")
    return 0


def _install(options: argparse.Namespace) -> int:
    index = Index.read(options.pieces)
    absent = missing(index, options.pieces)
    if absent:
        print(f"{len(index.pieces) - len(absent)} of {len(index.pieces)} pieces are here; missing: {', '.join(absent)}")
        return BackendUnavailableError.exit_code
    wheels = join(index, options.pieces, options.wheels)
    quick = ("--no-compile", "--no-cache-dir", "--quiet", "--upgrade")
    _pip("install", "--no-index", "--no-deps", *quick, "--target", str(options.site), *map(str, wheels))
    print(f"{len(wheels)} wheels installed: {options.site}")
    if absent := lacking(wheels, {found.name: found.version for found in distributions()}):
        print(f"not there: {', '.join(absent)}; what needs it fails. Carry it: make the pieces with --also NAME")
    return 0


def _capability(text: str) -> int:
    major, dot, minor = text.partition(".")
    if not (dot and major.isdecimal() and minor.isdecimal() and len(minor) == 1):
        raise argparse.ArgumentTypeError(f"got {text}, expected a compute capability such as 9.0")
    return int(major + minor)


def _as_here(package: str) -> str:
    """With the version that is installed here. Raises InputError where it is not."""
    try:
        return f"{package}=={version(package)}"
    except PackageNotFoundError as error:
        raise InputError(f"{package} is not installed here, whose version is carried; use make gpu-wheels") from error


def _pip(*arguments: str) -> None:
    """Raises InputError where pip fails: its own message says why."""
    done = subprocess.run([sys.executable, "-m", "pip", *arguments], check=False)
    if done.returncode:
        raise InputError(f"pip {arguments[0]} failed, see above")


if __name__ == "__main__":
    sys.exit(main())
