"""Cards as a table of words: for README and docs, and for the terminal."""

from collections.abc import Iterable, Sequence

from zoo.cards.card import Card
from zoo.cards.measured_card import BackendFigures, Measured

COLUMNS = ("config", "task", "what", "parameters (M)", "GFLOPs", "input", "metric")  # then one for each backend
NUMBERS_FROM = COLUMNS.index("parameters (M)")  # these and the backends' are aligned to the right, but for the metric
NONE = "-"


def table(cards: Sequence[Card]) -> tuple[list[str], list[list[str]]]:
    """The heads of the columns, and the cells of each card's row, in the order of the cards.

    Columns of backends are in the order in which the cards bring them up; a figure has two decimals.
    """
    names = list(dict.fromkeys(row.name for card in cards if card.measured for row in card.measured.rows))
    return [*COLUMNS, *names], [_row(card, names) for card in cards]


def metric_label(key: str) -> str:
    """The words for a figure: "coco/box_AP" is "box AP"."""
    return key.rpartition("/")[2].replace("_", " ")


def format_figure(value: float | None) -> str:
    """A figure in points or dB, two decimals; a dash for what could not be judged."""
    return NONE if value is None else f"{value:.2f}"


def _row(card: Card, names: Iterable[str]) -> list[str]:
    about = [card.name, card.task, card.what or NONE]
    measured = card.measured
    if measured is None:
        return [*about, NONE, NONE, NONE, card.state, *(NONE for _ in names)]
    metric = metric_label(measured.metric) + (f" ({card.state})" if card.problem else "")
    size = card.kind.size_words(measured.input_size)
    cost = [f"{measured.parameters / 1e6:.2f}", f"{measured.flops / 1e9:.2f}", size]
    by_name = {row.name: row for row in measured.rows}
    return [*about, *cost, metric, *(_main(measured, by_name.get(name)) for name in names)]


def _main(measured: Measured, row: BackendFigures | None) -> str:
    return NONE if row is None else format_figure(row.figures.get(measured.metric))
