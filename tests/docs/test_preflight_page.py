"""docs/preflight.md is the table as it is."""

import runpy
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "docs/write_preflight_page.py"


def test_the_page_is_that_of_the_table() -> None:
    written = runpy.run_path(str(SCRIPT))
    assert written["PAGE"].read_text(encoding="utf-8") == written["page"](), "python docs/write_preflight_page.py"
