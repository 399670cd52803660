"""Write docs/preflight.md from the table of the preflight.

python docs/write_preflight_page.py
"""

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))

from pipeline.preflight import all_rows

PAGE = DOCS / "preflight.md"
INTRO = """# The preflight

This table lists the graphs that backends refuse, or compute wrongly without an error. `zooport deploy` checks each
graph against it before a build. *refuse* ends with exit code 5 and the cure. *warn* reports the row and builds. With
*rewrite*, a graph rewriter changes the graph first. "measured" refers to the tests in tests/pipeline/preflight. Faults
on GPUs were reported by others, in the threads named.

Made by `docs/write_preflight_page.py` from the backends' rows (`backends/*/preflight`); do not edit.
"""


def page() -> str:
    """The whole page."""
    lines = ["| row | backend: versions | what | done | cure | source |", "|---" * 6 + "|"]
    for row in all_rows():
        versions = "; ".join(f"{backend}: {seen}" for backend, seen in row.versions.items())
        done = f"{row.action} ({row.rewriter})" if row.rewriter else row.action
        lines.append(f"| {row.name} | {versions} | {row.why} | {done} | {row.cure} | {row.source} |")
    return INTRO + "\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
