"""The pages that show the zoo: README.md and docs/zoo.md, each with a block that is made from the cards."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from zoo.cards.card import Card
from zoo.cards.reading import MEASURED, UPDATE, measured_file
from zoo.cards.section import section
from zoo.cards.table import NUMBERS_FROM, table
from zoo.errors import InputError

BEGIN = "<!-- zoo table: made by tools/update_zoo.py -->"
END = "<!-- end of zoo table -->"
CAPTION = (
    "Metrics in points (PSNR in dB), measured on each config's own data set; GFLOPs of one input, counted by torch",
    "(a multiply-add is two).",
)
ELSEWHERE = "not measured here"
MORE = "The [cards](docs/zoo.md) have all figures, recipes and hashes."


def pages(cards: Sequence[Card], root: Path = Path()) -> dict[Path, str]:
    """README.md and docs/zoo.md under `root`, each with the text that it should have.

    Raises InputError where a page is missing, or one of its two markers.
    """
    readme, docs = root / "README.md", root / "docs" / "zoo.md"
    here = [card for card in cards if card.state != ELSEWHERE]
    short = [*_markdown(here, lambda card: f"[{card.name}]({link(card.config, readme)})"), "", *CAPTION, MORE]
    if others := len(cards) - len(here):
        short.append(
            f"They also list configs whose weights are hosted elsewhere ({others}); we have not measured those."
        )
    long = [*_markdown(cards, lambda card: f"[{card.name}](#{card.name})"), "", *CAPTION]
    for card in cards:
        long += ["", *section(card, lambda path: link(path, docs))]
    return {page: _with_block(page, lines) for page, lines in ((readme, short), (docs, long))}


def problems(cards: Sequence[Card], root: Path = Path(), folder: Path = MEASURED) -> list[str]:
    """What is stale, each in one line: cards, pages, and files of configs that are no more. `cards`: of the whole zoo.

    Raises InputError as `pages` does.
    """
    faults = [card.problem for card in cards if card.problem]
    known = {measured_file(card.config, folder) for card in cards}
    faults += [f"{file} is of no config; remove it" for file in sorted(set(folder.glob("*.json")) - known)]
    for page, text in pages(cards, root).items():
        if page.read_text(encoding="utf-8") != text:
            faults.append(f"{page} is not what the cards say; run {UPDATE}")
    return faults


def link(path: str | Path, page: Path) -> str:
    """The path as a page links to it."""
    return Path(os.path.relpath(path, page.parent)).as_posix()


def _markdown(cards: Sequence[Card], name: Callable[[Card], str]) -> list[str]:
    heads, rows = table(cards)
    metric = heads.index("metric")
    ruler = ["---:" if index >= NUMBERS_FROM and index != metric else "---" for index in range(len(heads))]
    body = [
        [name(card), *(cell.replace("|", "\\|") for cell in row[1:])] for card, row in zip(cards, rows, strict=True)
    ]
    return [_line(heads), f"|{'|'.join(ruler)}|", *map(_line, body)]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _with_block(page: Path, lines: Sequence[str]) -> str:
    if not page.is_file():
        raise InputError(f"{page}: no such file; run this in the root of the repository")
    text = page.read_text(encoding="utf-8")
    for marker in (BEGIN, END):
        if text.count(marker) != 1:
            raise InputError(f'{page}: got "{marker}" {text.count(marker)} times, expected once; fix the page')
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise InputError(f'{page}: "{END}" comes before "{BEGIN}"; fix the page')
    return "\n".join([before + BEGIN, "", *lines, "", END + after])
