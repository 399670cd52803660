"""One card as a section of docs/zoo.md."""

import json
from pathlib import Path

from zoo.cards.card import Card
from zoo.cards.measured_card import BackendFigures, Measured
from zoo.cards.table import format_figure, metric_label
from zoo.cards.training_section import Link, training_section
from zoo.config.located import is_address
from zoo.input_kinds import InputKind


def section(card: Card, link: Link) -> list[str]:
    """The lines of Markdown: all that is on the card. `link` gives the address of a path as the page writes it."""
    config = Path(card.config)
    lines = [f"## {card.name}", "", card.what]
    if card.problem or card.measured is None:
        lines += ["", f"**{card.state.capitalize()}.**"]
    lines += ["", f"- config: [`{config.name}`]({link(config)}), task {card.task}"]
    if card.paper:
        lines += [f"- source: {card.paper}", f"- licence: {card.licence}"]
    lines += _checkpoint(card, link)
    if card.measured is not None:
        lines += [*_cost(card.measured, card.kind), "", *_figures(card.measured, card)]
    if card.training is not None and not _is_anothers(card):
        lines += training_section(card.training, card.kind, link)
    return lines


def _is_anothers(card: Card) -> bool:
    """Whether the weights are those of another config, whose section says how they were made."""
    return "config" in card.recipe


def _checkpoint(card: Card, link: Link) -> list[str]:
    lines = []
    if is_address(card.checkpoint):
        lines.append(f"- checkpoint: `{card.checkpoint}`")
    elif card.checkpoint is not None:
        weights = Path(card.config).parent / card.checkpoint
        about = "" if card.training is None else f", {card.training.bytes} bytes, licence: {card.training.licence}"
        lines.append(f"- checkpoint: [`{weights.name}`]({link(weights)}){about}")
    if card.measured is not None and card.measured.checkpoint_sha256 is not None:
        lines.append(f"- sha256 of the checkpoint: `{card.measured.checkpoint_sha256}`")
    if _is_anothers(card):
        other = Path(card.config).parent / card.recipe["config"]
        lines.append(f"- training recipe: that of [`{other.name}`]({link(other)})")
    elif card.recipe and card.training is None:
        lines.append(f"- training recipe: `{json.dumps(card.recipe)}`")
    return lines


def size_with_axes(measured: Measured, kind: InputKind) -> str:
    """The size of the input that the cost was counted on, and what its numbers are."""
    return kind.size_words(measured.input_size) + (f" ({kind.size_axes})" if kind.size_axes else "")


def _cost(measured: Measured, kind: InputKind) -> list[str]:
    return [
        f"- parameters: {measured.parameters}",
        f"- input: {size_with_axes(measured, kind)}, {measured.flops / 1e9:.3f} GFLOPs {kind.one}",
    ]


def _figures(measured: Measured, card: Card) -> list[str]:
    """A table with a row for each figure and a column for each backend."""
    rows = measured.rows
    names = list(dict.fromkeys(key for row in rows for key in row.figures))
    lines = [
        f"| | {' | '.join(row.name for row in rows)} |",
        f"|---|{'---:|' * len(rows)}",
        *(_figure(name, rows, bold=name == measured.metric) for name in names),
        f"| difference, {measured.unit} | {' | '.join(_difference(row) for row in rows)} |",
        f"| gate | {' | '.join('-' if row.gate is None else f'{row.gate:g}' for row in rows)} |",
        f"| verdict | {' | '.join(row.verdict for row in rows)} |",
    ]
    dataset = card.dataset
    about = ", ".join([dataset["type"], *(f"{key} {value}" for key, value in dataset.items() if key != "type")])
    machine = measured.machine
    libraries = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    on = f"{machine['processor']}, {machine['threads']} threads, Python {machine['python']}, {libraries}"
    return [*lines, "", f"On {measured.images} {card.kind.plural} ({about}), measured {measured.date} on {on}."]


def _figure(name: str, rows: tuple[BackendFigures, ...], *, bold: bool) -> str:
    words = f"**{metric_label(name)}**" if bold else metric_label(name)
    return f"| {words} | {' | '.join(format_figure(row.figures.get(name)) for row in rows)} |"


def _difference(row: BackendFigures) -> str:
    if row.difference is None:
        return "-"
    interval = "" if row.interval is None else f" ({row.interval[0]:+.2f} to {row.interval[1]:+.2f})"
    return f"{row.difference:+.3f}{interval}"
