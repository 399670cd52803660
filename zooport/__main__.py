"""`python -m zooport`."""

import sys
from pathlib import Path

from zooport.entry import main
from zooport.own_packages import ROOT

if __name__ == "__main__":
    if not sys.flags.safe_path and Path(sys.path[0]).resolve() != ROOT:
        del sys.path[0]  # the current folder, which may have a `zoo/`; the installed command does not search it either
    sys.exit(main())
