"""A small image of what a deployment found, for the page of all of them."""

from pipeline.report.embedded import data_uri
from pipeline.report.preview_file import read_result
from pipeline.report.recorded import Recorded
from zoo.errors import InputError

LONGEST_SIDE = 160  # pixels: twice what the page shows, for screens with two pixels in each direction
LARGEST = 4_000  # bytes of one; base64 makes a third more of them


def thumbnail(one: Recorded) -> str | None:
    """The first preview as a data URI; None where no results are drawn, or the file is damaged.

    Reads the deployment's folder, which must be held open.
    """
    if one.manifest.output_level != "final" or not one.previews:
        return None
    try:
        return data_uri(read_result(one.preview(one.previews[0])), LARGEST, LONGEST_SIDE)
    except InputError:
        return None
