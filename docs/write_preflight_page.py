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

What backends refuse, or compute wrongly without an error, as `zooport deploy` checks each graph before a
build. *refuse*: exit code 5 with the cure; *warn*: reported, and built; *rewrite*: a graph rewriter changes the graph
first. "measured" means the tests in tests/pipeline/preflight; what was seen on GPUs was seen by others, in the threads
named.

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
