"""The model card of a config, as far as it has one, for the report."""

from dataclasses import dataclass
from pathlib import Path

from pipeline.report.table import Table
from zoo.cards import Card, read_card
from zoo.cards.measured_card import BackendFigures, Measured
from zoo.cards.section import size_with_axes
from zoo.cards.table import format_figure, metric_label
from zoo.config import ModelConfig
from zoo.config.located import is_address
from zoo.errors import InputError
from zoo.input_kinds import InputKind


@dataclass(frozen=True)
class CardFacts:
    """``facts``: (what, words). ``figures``: None where nothing was measured. ``state``: as of zoo.cards.Card."""

    what: str
    facts: tuple[tuple[str, str], ...]
    figures: Table | None
    state: str


def card_of(config: ModelConfig) -> Card | None:
    """The card of a config's file; None where the config has none, or was not read from a file."""
    if config.card is None:
        return None
    try:
        return read_card(config.path)
    except InputError:
        return None


def card_facts(card: Card) -> CardFacts:
    """What a reader of the report wants of it."""
    facts = [("config", card.config), ("source", card.paper), ("licence", card.licence)]
    facts += [("weights", _weights(card.checkpoint)), ("data set", _dataset(card))]
    if card.measured is not None:
        facts += _cost(card.measured, card.kind)
    figures = None if card.measured is None else _figures(card.measured)
    return CardFacts(card.what, tuple((name, words) for name, words in facts if words), figures, card.state)


def _weights(checkpoint: str | None) -> str:
    if checkpoint is None:
        return "random"
    return checkpoint if is_address(checkpoint) else Path(checkpoint).name


def _dataset(card: Card) -> str:
    return ", ".join(str(value) for key, value in card.dataset.items() if key in {"type", "root", "split"})


def _cost(measured: Measured, kind: InputKind) -> list[tuple[str, str]]:
    return [
        ("parameters", f"{measured.parameters / 1e6:.2f} million"),
        ("cost", f"{measured.flops / 1e9:.2f} GFLOPs for {kind.one} of {size_with_axes(measured, kind)}"),
        ("measured", f"{measured.date}, on {measured.images} {kind.plural}"),
    ]


def _figures(measured: Measured) -> Table:
    names = list(dict.fromkeys(key for row in measured.rows for key in row.figures))
    rows = [
        [_metric(name, measured), *(format_figure(row.figures.get(name)) for row in measured.rows)] for name in names
    ]
    rows.append([f"difference of the main figure, {measured.unit}", *map(_difference, measured.rows)])
    heads = ("figure", *(row.name for row in measured.rows))
    return Table("The card's figures on the data set", heads, rows, frozenset(range(1, len(heads))))


def _metric(name: str, measured: Measured) -> str:
    return metric_label(name) + (" (main)" if name == measured.metric else "")


def _difference(row: BackendFigures) -> str:
    return "" if row.difference is None else f"{row.difference:+.3f}"
