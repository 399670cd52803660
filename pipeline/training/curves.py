"""The curves of a training as an image, drawn from the log that mmengine writes."""

import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator
from numpy.typing import NDArray

from zoo.files.writing import write_whole

NAME = "curves.png"
LOGS = "*/vis_data/scalars.json"  # a folder for each start, named by its time: their order is that of the starts
STARTED = "%Y%m%d_%H%M%S"  # such a name
SMOOTHING = 0.02  # standard deviation of the weights of the moving mean, as a part of all logged points
REACH = 6  # of these deviations: what is farther weighs less than rounding
FIGURES = 3  # of a validation that are drawn
TOTAL = "loss"  # mmengine's sum of all terms
Record = Mapping[str, float]


def write_curves(work_dir: Path) -> Path | None:
    """Draws `curves.png` into a work dir: losses, figures of validations, learning rate and gradient norm.

    Where a run was resumed, its logs are joined. None where nothing has been logged yet. Raises OSError.
    """
    records = joined(work_dir.glob(LOGS))
    if not records:
        return None
    content = io.BytesIO()
    draw(records, title=work_dir.name).savefig(content, format="png", dpi=110)
    write_whole(work_dir / NAME, content.getbuffer())
    return work_dir / NAME


def joined(logs: Iterable[Path]) -> list[Record]:
    """The records of several starts as one run, by rising "step": a later log replaces what it does again.

    So a run that was resumed goes on where its checkpoint was written, and one that began anew hides the older ones.
    """
    records: list[Record] = []
    for log in sorted(logs):
        later = list(_records(log))
        if later:
            records = [record for record in records if record["step"] < later[0]["step"]] + later
    return records


def validated(work_dir: Path, began: str | None) -> set[int]:
    """The steps at which a validation has been logged, since a run began, ISO 8601; None: by any run."""
    since = datetime.min.replace(tzinfo=UTC) if began is None else datetime.fromisoformat(began).replace(microsecond=0)
    logs = [log for log in work_dir.glob(LOGS) if _started(log) >= since]
    return {int(record["step"]) for record in joined(logs) if figures_of(record)}


def _started(log: Path) -> datetime:
    """By the name of its folder, in this machine's time; the earliest of all where it is named otherwise."""
    try:
        return datetime.strptime(log.parents[1].name, STARTED).astimezone()
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)


def _records(log: Path) -> Iterable[Record]:
    for line in log.read_text(encoding="utf-8").splitlines():
        try:
            record: Any = json.loads(line)
        except ValueError:  # the last line of a run that was killed
            return
        if "step" in record and (TOTAL in record or figures_of(record)):
            yield record


def figures_of(record: Record) -> list[str]:
    """The names of the figures that a validation has logged, for example "coco/box_AP"; the main one first."""
    return [key for key in record if "/" in key]


def draw(records: Sequence[Record], title: str) -> Figure:
    """Panels, one above the other: the loss and its terms, figures of validations, learning rate, gradient norm."""
    validations = [record for record in records if figures_of(record)]
    records, last = [record for record in records if TOTAL in record], records[-1]["step"]
    figure = Figure(figsize=(9, 10 if validations else 8), layout="constrained")
    heights = (3, 2, 1, 1.5) if validations else (3, 1, 1.5)
    losses, *judged, rate, gradient = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    for panel in judged:
        _figures(panel, validations)
    terms = sorted({key for record in records for key in record if key.startswith(f"{TOTAL}_")})
    _curve(losses, records, TOTAL, colour="black")
    for number, term in enumerate(terms):
        _curve(losses, records, term, colour=f"C{number}")
    _curve(gradient, records, "grad_norm", colour="dimgrey")
    rate.plot(*_points(records, "lr"), color="dimgrey")
    for panel, label in ((losses, "loss"), (rate, "learning rate"), (gradient, "gradient norm")):
        panel.set_ylabel(label)
        panel.grid(alpha=0.3)
        panel.set_xlim(0, last)
        panel.set_ylim(bottom=0)
    if min((record.get(key, 1.0) for record in records for key in (TOTAL, *terms)), default=0) > 0:
        losses.set_yscale("log")  # the last, small steps are what one looks for
        losses.autoscale(axis="y")
        losses.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        losses.yaxis.set_major_formatter("{x:g}")
        losses.yaxis.set_minor_locator(NullLocator())
    losses.legend(frameon=False, ncols=2)
    losses.set_title(title, loc="left")
    gradient.set_xlabel("iteration")
    return figure


def _figures(panel: Axes, validations: Sequence[Record]) -> None:
    """The figures of each validation; the main one's best is marked."""
    main, *others = figures_of(validations[0])[:FIGURES]
    steps, values = _points(validations, main)
    panel.plot(steps, values, "o-", color="black", label=main)
    if values:
        best = int(np.argmax(values))
        panel.plot(steps[best], values[best], "*", color="C1", markersize=14, label=f"best {values[best]:.2f}")
    for number, key in enumerate(others):
        panel.plot(*_points(validations, key), "o-", color=f"C{number}", alpha=0.4, markersize=3, label=key)
    panel.set_ylabel("validation")
    panel.set_ylim(bottom=0)
    panel.grid(alpha=0.3)
    panel.legend(frameon=False, ncols=2)


def _curve(panel: Axes, records: Sequence[Record], key: str, colour: str) -> None:
    """The values, pale, and their moving mean."""
    steps, values = _points(records, key)
    panel.plot(steps, values, color=colour, alpha=0.25, linewidth=1)
    panel.plot(steps, smooth(values), color=colour, label=key)


def _points(records: Sequence[Record], key: str) -> tuple[list[float], list[float]]:
    points = [(record["step"], record[key]) for record in records if math.isfinite(record.get(key, math.nan))]
    return [step for step, _ in points], [value for _, value in points]


def smooth(values: Sequence[float]) -> NDArray[np.float64]:
    """A moving mean with Gaussian weights: centred, so that it does not lag behind a falling curve."""
    if not len(values):
        return np.zeros(0)
    width = max(1.0, SMOOTHING * len(values))
    reach = math.ceil(REACH * width)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    sums, totals = (np.convolve(each, weights)[reach : reach + len(values)] for each in (values, np.ones(len(values))))
    averages: NDArray[np.float64] = sums / totals
    return averages
