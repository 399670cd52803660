"""What `zooport what-if` prints of the choices that it tried, and gives as data."""

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from pipeline.what_if.judges import Judge
    from pipeline.what_if.trying import Trial

DTYPES = {"int8": "int8", "fp16": "float16"}


def as_data(trial: "Trial") -> dict[str, Any]:
    """Of --json."""
    return {
        "keep_fp32": list(trial.kept),
        "layers": dict(trial.layers),
        "value": finite(trial.value),
        "difference": finite(trial.difference),
        "within": trial.good,
    }


def finite(value: float) -> float | None:
    """JSON has no number for what is not finite."""
    return value if isfinite(value) else None


def summary(trial: "Trial", judge: "Judge") -> str:
    """A line while the work goes on."""
    return f"in fp32 {', '.join(trial.kept) or 'nothing'}: {trial.difference:+.2f} {judge.unit}"


def show(console: "Console", precision: str, judge: "Judge", trials: Sequence["Trial"]) -> None:
    """A row for each choice."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    title = f"{judge.name} on {judge.images} {judge.kind.plural}; PyTorch has {judge.reference:.2f} {judge.unit}"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("kept in fp32", overflow="fold")
    for name in (f"layers in {precision}", judge.unit, "to PyTorch", f"within {judge.tolerance:g}"):
        table.add_column(name, justify="right", no_wrap=True)
    for trial in trials:
        low, whole = trial.layers.get(DTYPES[precision], 0), sum(trial.layers.values())
        words = ", ".join(trial.kept) or "nothing"
        good = "yes" if trial.good else "no"
        table.add_row(words, f"{low} of {whole}", f"{trial.value:.2f}", f"{trial.difference:+.2f}", good)
    console.print(table)


def conclude(console: "Console", config: str, precision: str, judge: "Judge", needed: Sequence[str]) -> None:
    """The list, as the config takes it."""
    words = ", ".join(needed) or "nothing"
    console.print(f"needed in fp32 for {judge.tolerance:g} {judge.unit}: {words}", highlight=False)
    if needed:
        names = ", ".join(f'"{name}"' for name in needed)
        console.print(
            f"{Path(config).name}: export=dict(precision=dict({precision}=dict(keep_fp32=[{names}])))",
            highlight=False,
            soft_wrap=True,
        )
    console.print(f"zooport deploy judges on all {judge.kind.plural}, and decides", style="dim", highlight=False)
