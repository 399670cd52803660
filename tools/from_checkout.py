"""Runs a verb of the command line with the packages of this checkout, whatever is installed."""

import os
import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[1])


def use_checkout() -> None:
    """This process and its children import the packages of this checkout, and no file of tools/."""
    sys.path[0] = ROOT
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (ROOT, os.environ.get("PYTHONPATH"))))


def run(verb: str) -> None:
    """`zooport VERB` with the arguments of this process; ends it."""
    use_checkout()
    from zooport.entry import main

    sys.exit(main([verb, *sys.argv[1:]]))
