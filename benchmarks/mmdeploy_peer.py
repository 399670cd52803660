"""zooport beside its peers, onedl-mmdeploy and mmdeploy: the same models of mmdetection and mmsegmentation.

Each row is exported by zooport with both exporters and by the Python part of each peer, run in ONNX Runtime, and
compared with the library's own eager inference, at batches 1 and 3 and at a second size. The packages of the peers are
not installed: they come from a folder.

    python benchmarks/mmdeploy_peer.py --fetch work_dirs/peers
    python benchmarks/mmdeploy_peer.py --peer work_dirs/peers --page docs/measured/mmdeploy_peer.md
    python benchmarks/mmdeploy_peer.py --peer work_dirs/peers --latency --page F  # on an idle machine
    python benchmarks/mmdeploy_peer.py --tools "zooport dynamo" --models retinanet  # without the peers

Each cell is a process of its own. An interrupted run continues where it was, with --state. Exit code 3 if a graph of
zooport's is wrong; a peer's verdict is a figure. Exit code 4 without the peers.
"""

import argparse
import json
import os
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

from matrix import run_cells
from measured import busy_elsewhere, machine, sources, state_of, write_page
from mmdeploy_peer_fetch import check, fetch
from mmdeploy_peer_page import INTRO, LATENCY, PROOF, cell_of, is_wrong, latency_note, summary, table
from mmdeploy_peer_rows import NAMES, PEER, PEERS, TOOLS

from zoo.errors import ZooportError

PACKAGES = ("torch", "onnxruntime", "onnx", "mmdet", "mmsegmentation", "mmengine")
PARTS = ("rows", "case", "compare", "export", "cell")
MADE_OF = (
    *("rewriters", "zoo", "tests/small_mmdet", "tests/small_mmseg_segmentors.py", "tests/translated_segmentors.py"),
    *(f"benchmarks/mmdeploy_peer_{part}.py" for part in PARTS),
)


def main() -> int:
    """Run the cells, print and write the page; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fetch", type=Path, metavar="DIR", help="fill DIR with the packages of the peers by pip")
    parser.add_argument("--peer", type=Path, metavar="DIR", help="the folder that --fetch filled")
    parser.add_argument("--models", nargs="+", default=NAMES, choices=NAMES, metavar="NAME", help="default: all")
    parser.add_argument("--tools", nargs="+", default=TOOLS, choices=TOOLS, metavar="TOOL", help="default: all")
    parser.add_argument("--latency", action="store_true", help="measure latency as well")
    parser.add_argument("--state", type=Path, default=Path("work_dirs/mmdeploy_peer.json"), metavar="F")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--cell", nargs=3, metavar=("MODEL", "TOOL", "STAGE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    try:
        return run(args)
    except ZooportError as error:
        print(f"mmdeploy_peer: {error}", file=sys.stderr)
        return error.exit_code


def run(args: argparse.Namespace) -> int:
    """What the arguments say."""
    if args.fetch:
        fetch(args.fetch)
        return 0
    if args.cell:
        return print_cell(*args.cell)
    if set(PEERS) & set(args.tools):
        check(args.peer)
        os.environ[PEER] = str(args.peer.resolve())
    state = state_of(args.state, sources(*MADE_OF), *PACKAGES)
    stages = (PROOF, LATENCY) if args.latency else (PROOF,)
    cells = [(name, tool, stage) for name in args.models for tool in args.tools for stage in stages]
    busy = busy_elsewhere()
    run_cells(__file__, cells, state, args.state)
    print(f"the machine's threads were busy for {busy_elsewhere() - busy:.0f} s meanwhile, these processes among them")
    content = "\n\n".join([summary(state), machine(*PACKAGES), table(state)])
    print(content)
    if args.page:
        title = "zooport beside mmdeploy"
        intro = f"{INTRO}\n\n{latency_note(state)}"
        write_page(args.page, title, intro, "benchmarks/mmdeploy_peer.py --peer DIR", content)
    own = [tool for tool in args.tools if tool not in PEERS]
    return 3 if any(is_wrong(cell_of(state, name, tool)) for name in args.models for tool in own) else 0


def print_cell(name: str, tool: str, stage: str) -> int:
    """One cell as JSON, in a process of its own."""
    from mmdeploy_peer_cell import measured_cell

    warnings.simplefilter("ignore")
    print(json.dumps(measured_cell(name, tool, latency=stage == LATENCY)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
