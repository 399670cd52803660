"""Two deployments side by side: one self-contained page."""

from pathlib import Path

from pipeline.report.compared import Compared, compare_recorded
from pipeline.report.compared_images import compared_images
from pipeline.report.embedded import EMBEDDED, embedded_images
from pipeline.report.page import render
from pipeline.report.recorded import read_recorded
from zoo.files.writing import write_whole
from zoo.opened_folder import OpenedFolder, read_whole

TEMPLATE = "comparison.html.jinja"


def write_comparison(first: str | Path, second: str | Path, out: Path) -> Compared:
    """Compare what two folders say, without running anything, and write the page.

    Raises InputError where one is no deployment, or both are not of one task.
    """
    return read_whole(first, lambda one: read_whole(second, lambda other: _write(one, other, out)))


def _write(first: OpenedFolder, second: OpenedFolder, out: Path) -> Compared:
    sides = read_recorded(first), read_recorded(second)
    compared = compare_recorded(*sides)
    images = compared_images(*sides)
    page = render(
        TEMPLATE,
        plots=False,
        sides=sides,
        compared=compared,
        previews=embedded_images(images[:EMBEDDED]),
        more_previews=max(0, len(images) - EMBEDDED),
    )
    write_whole(out, page, make_folders=True)
    return compared
