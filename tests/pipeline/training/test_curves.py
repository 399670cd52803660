"""The curves: joined where a run was resumed, smooth, and drawn."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from pipeline.training import write_curves
from pipeline.training.curves import draw, joined, smooth
from tests.examples import slow_but


def log(work_dir: Path, time: str, steps: range, loss: float = 1.0, **more: float) -> Path:
    path = work_dir / time / "vis_data" / "scalars.json"
    path.parent.mkdir(parents=True)
    records = [{"lr": 0.1, "grad_norm": 2.0, "loss": loss, "step": step, "iter": step, **more} for step in steps]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def losses(logs: list[Path]) -> list[tuple[float, float]]:
    return [(record["step"], record["loss"]) for record in joined(logs)]


def test_a_resumed_run_goes_on_where_its_checkpoint_was(tmp_path: Path) -> None:
    first = log(tmp_path, "20260101_000000", range(10, 60, 10), loss=1)
    second = log(tmp_path, "20260101_000100", range(40, 70, 10), loss=2)
    assert losses([second, first]) == [(10, 1), (20, 1), (30, 1), (40, 2), (50, 2), (60, 2)]


def test_a_run_that_began_anew_hides_the_older_one(tmp_path: Path) -> None:
    first = log(tmp_path, "20260101_000000", range(10, 60, 10), loss=1)
    second = log(tmp_path, "20260101_000100", range(10, 30, 10), loss=2)
    assert losses([first, second]) == [(10, 2), (20, 2)]


def test_a_start_without_a_log_changes_nothing(tmp_path: Path) -> None:
    first = log(tmp_path, "20260101_000000", range(10, 30, 10))
    assert losses([first, log(tmp_path, "20260101_000100", range(0))]) == losses([first])


def test_a_line_that_a_kill_cut_off_is_left_out(tmp_path: Path) -> None:
    path = log(tmp_path, "20260101_000000", range(10, 30, 10))
    path.write_text(path.read_text(encoding="utf-8")[:-9], encoding="utf-8")
    assert losses([path]) == [(10, 1.0)]


def test_the_image(tmp_path: Path) -> None:
    assert write_curves(tmp_path) is None
    log(tmp_path, "20260101_000000", range(10, 110, 10), loss_a=0.5, loss_b=0.5)
    path = write_curves(tmp_path)
    assert path == tmp_path / "curves.png"
    with Image.open(path) as sample_image:
        colours = np.asarray(sample_image.convert("RGB"))
    assert min(colours.shape[:2]) > 500
    assert (colours != 255).any(axis=2).mean() > 0.01


def test_every_loss_is_drawn_and_named() -> None:
    records = [
        {"step": 10 * n, "loss": 3 / n, "loss_b": 2 / n, "loss_a": 1 / n, "lr": 0.1, "grad_norm": 1.0} for n in (1, 2)
    ]
    figure = draw(records, "x")
    panel = figure.axes[0]
    legend = panel.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["loss", "loss_a", "loss_b"]
    assert [axes.get_ylabel() for axes in figure.axes] == ["loss", "learning rate", "gradient norm"]
    assert panel.get_yscale() == "log"


@pytest.mark.parametrize(
    "odd",
    slow_but(
        [{"loss_a": 0.0}, {"loss": -1.0}, {"grad_norm": float("nan")}, {"grad_norm": float("inf")}],
        {"loss": -1.0},
        {"grad_norm": float("inf")},
    ),
)
def test_odd_values_are_drawn_as_far_as_they_go(odd: dict[str, Any], tmp_path: Path) -> None:
    log(tmp_path, "20260101_000000", range(10, 20, 10), **{"loss": 1.0, **odd})
    assert write_curves(tmp_path) is not None


def test_smoothing_of_a_long_training_takes_no_square_of_it() -> None:
    tracemalloc.start()
    try:
        smooth([1.0] * 20_000)
        assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    finally:
        tracemalloc.stop()


VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200)


@given(VALUES)
def test_smoothing_stays_within_the_values(values: list[float]) -> None:
    found = smooth(values)
    assert len(found) == len(values)
    assert (found >= min(values) - 1e-3).all()
    assert (found <= max(values) + 1e-3).all()


@given(st.floats(-100, 100), st.integers(30, 200))
def test_a_straight_line_does_not_lag(slope: float, count: int) -> None:
    line = slope * np.arange(count)
    middle = slice(count // 3, -(count // 3))
    assert smooth(list(line))[middle] == pytest.approx(line[middle], abs=0.05 * abs(slope) + 1e-9)


def test_noise_becomes_less() -> None:
    noise = np.random.default_rng(0).normal(size=100)
    assert smooth(list(noise)).std() < 0.6 * noise.std()
