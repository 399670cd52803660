"""The code of the pages runs. What it claims, it asserts."""

import runpy
from pathlib import Path

import pytest

from rewriters.graph_rewriters import GRAPH_REWRITERS
from rewriters.symbolic.declaration import SYMBOLIC_REWRITERS
from rewriters.symbolic.kernels import KERNELS

DOCS = Path(__file__).parents[2] / "docs"
run_page = runpy.run_path(str(DOCS / "run_page.py"))["run_page"]
PAGES = {
    "configs.md": ["base", "dotted.py", "hidden.py", "mine.py", "pipeline.py", "thin.py", "thin_head.py"],
    "graphs.md": [],
    "graph_rewriters.md": [],
    "control_flow.md": [],
    "rewriters.md": ["model.onnx"],
}
SLOW = {"control_flow.md"}
"""And the files that they write."""


@pytest.mark.parametrize("page", [pytest.param(page, marks=[pytest.mark.slow] * (page in SLOW)) for page in PAGES])
def test_the_code_of_a_page_runs(page: str, folder: Path) -> None:
    before = dict(GRAPH_REWRITERS), list(SYMBOLIC_REWRITERS), dict(KERNELS)
    assert len(run_page(DOCS / page)) > 6
    assert before == (GRAPH_REWRITERS, SYMBOLIC_REWRITERS, KERNELS)
    assert sorted(path.name for path in folder.iterdir() if path.name != "__pycache__") == PAGES[page]


def test_an_error_names_the_line_of_its_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n```python\na = 1\n```\n\ntext\n\n```python\nassert a == 2\n```\n")
    with pytest.raises(AssertionError) as raised:
        run_page(page)
    assert (raised.traceback[-1].path, raised.traceback[-1].lineno) == (page, 9)
