"""Templates to self-contained pages: style and script are inside, and nothing is fetched."""

from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from pipeline.report.plots import plot_library


def render(template: str, *, plots: bool, **values: Any) -> str:
    """The page. ``plots``: whether it needs the plot library inside, which is more than a megabyte."""
    library = Markup(plot_library()) if plots else ""  # noqa: S704 - the library's own code, nothing from outside
    page = _environment().get_template(template).render(library=library, **values)
    return page.encode(errors="backslashreplace").decode()  # paths may hold bytes that are no UTF-8


@cache
def _environment() -> jinja2.Environment:
    """One for the process, which keeps the templates that it has compiled."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {}  # a plot's parts refer to earlier ones, so their order must stay
    return environment
