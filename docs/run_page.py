"""Running the code of a page: its ```python blocks, in order, in one namespace."""

import re
from pathlib import Path
from typing import Any

from rewriters.graph_rewriters import GRAPH_REWRITERS
from rewriters.symbolic.declaration import SYMBOLIC_REWRITERS
from rewriters.symbolic.kernels import KERNELS


def run_page(page: Path, **given: Any) -> dict[str, Any]:
    """The names that the page's code defines; it may use those that are `given`.

    Rewriters and kernels that it registers are taken out again.
    """
    registered, symbolic, kernels = dict(GRAPH_REWRITERS), list(SYMBOLIC_REWRITERS), dict(KERNELS)
    names: dict[str, Any] = {"__name__": page.stem, **given}
    text = page.read_text(encoding="utf-8")
    try:
        for block in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            line = text.count("\n", 0, block.start(1))
            exec(compile("\n" * line + block[1], str(page), "exec"), names)  # errors name the page's own line
    finally:
        GRAPH_REWRITERS.clear()
        GRAPH_REWRITERS.update(registered)
        SYMBOLIC_REWRITERS[:] = symbolic
        KERNELS.clear()
        KERNELS.update(kernels)
    return names
