"""Opening a page in the reader's browser."""

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from zooport.terminal import PlainConsole


def open_page(console: "Console | PlainConsole", path: Path) -> bool:
    """Whether a browser took it. That none did is printed, and is no error: the page is written."""
    opened = webbrowser.open(path.resolve().as_uri())
    if not opened:
        console.print(f"no browser was found here; open {path} by hand", soft_wrap=True, highlight=False)
    return opened
