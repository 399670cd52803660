"""The curves of a training as an image, drawn from the log that mmengine writes."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator
from numpy.typing import NDArray

NAME = "curves.png"
LOGS = "*/vis_data/scalars.json"  # a folder for each start, named by its time: their order is that of the starts
SMOOTHING = 0.02  # standard deviation of the weights of the moving mean, as a part of all logged points
TOTAL = "loss"  # mmengine's sum of all terms
Record = Mapping[str, float]


def write_curves(work_dir: Path) -> Path | None:
    """Draws `curves.png` into a work dir: losses, learning rate and gradient norm over the iterations.

    Where a run was resumed, its logs are joined. None where nothing has been logged yet.
    """
    records = joined(work_dir.glob(LOGS))
    if not records:
        return None
    figure = draw(records, title=work_dir.name)
    figure.savefig(work_dir / NAME, dpi=110)
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


def _records(log: Path) -> Iterable[Record]:
    for line in log.read_text(encoding="utf-8").splitlines():
        try:
            record: Any = json.loads(line)
        except ValueError:  # the last line of a run that was killed
            return
        if "step" in record and TOTAL in record:
            yield record


def draw(records: Sequence[Record], title: str) -> Figure:
    """Three panels, one above the other: the loss and its terms, the learning rate, the norm of the gradient."""
    figure = Figure(figsize=(9, 8), layout="constrained")
    losses, rate, gradient = figure.subplots(3, 1, sharex=True, height_ratios=(3, 1, 1.5))
    terms = sorted({key for record in records for key in record if key.startswith(f"{TOTAL}_")})
    _curve(losses, records, TOTAL, colour="black")
    for number, term in enumerate(terms):
        _curve(losses, records, term, colour=f"C{number}")
    _curve(gradient, records, "grad_norm", colour="dimgrey")
    rate.plot(*_points(records, "lr"), color="dimgrey")
    for panel, label in ((losses, "loss"), (rate, "learning rate"), (gradient, "gradient norm")):
        panel.set_ylabel(label)
        panel.grid(alpha=0.3)
        panel.set_xlim(0, records[-1]["step"])
        panel.set_ylim(bottom=0)
    if min(record.get(key, 1.0) for record in records for key in (TOTAL, *terms)) > 0:
        losses.set_yscale("log")  # the last, small steps are what one looks for
        losses.autoscale(axis="y")
        losses.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        losses.yaxis.set_major_formatter("{x:g}")
        losses.yaxis.set_minor_locator(NullLocator())
    losses.legend(frameon=False, ncols=2)
    losses.set_title(title, loc="left")
    gradient.set_xlabel("iteration")
    return figure


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
    places = np.arange(len(values))
    width = max(1.0, SMOOTHING * len(values))
    weights = np.exp(-0.5 * ((places[:, None] - places[None, :]) / width) ** 2)
    averages: NDArray[np.float64] = weights @ np.asarray(values, np.float64) / weights.sum(axis=1)
    return averages
