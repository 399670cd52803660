"""report.md and report.html of a matrix, whole or not at all; an unfinished matrix has one, too."""

import re
from pathlib import Path

import jinja2

from pipeline.regression.entries import REPORT, Entry, entry_of, entry_rows, format_column, format_images
from pipeline.regression.result import Regression
from zoo.files.writing import write_whole

MARKDOWN = "report.md"
TEMPLATE = "report.html.jinja"
EXPLANATION = (
    "Each cell deploys a model and compares it with the unpatched PyTorch model: parity on a few inputs, then the "
    "metric on {images}. The difference is deployment minus PyTorch; the time is that of the whole deploy, the loading "
    "of PyTorch included; the size is that of the files which the runtime loads."
)


def write_reports(regression: Regression) -> None:
    """Write both into the matrix's work folder."""
    write_whole(regression.work_dir / MARKDOWN, markdown(regression), make_folders=True)
    write_whole(regression.work_dir / REPORT, html(regression), make_folders=True)


def html(regression: Regression) -> str:
    """One self-contained page."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(TEMPLATE).render(
        regression=regression,
        kind="bad"
        if any(result.state.kind == "bad" for _, result in regression.cells)
        else "open"
        if regression.failed or not regression.any_passed
        else "good",
        explanation=EXPLANATION.format(images=format_images(regression.matrix)),
        columns=[format_column(column) for column in regression.matrix.columns],
        rows=entry_rows(regression),
        not_green=_not_green(regression),
    )


def markdown(regression: Regression) -> str:
    """A page for a code host or a terminal."""
    columns = [format_column(column) for column in regression.matrix.columns]
    lines = [f"# Regression: {_plain(regression.matrix.name)}", "", f"**{regression.summary}.**", ""]
    lines += [EXPLANATION.format(images=format_images(regression.matrix)), ""]
    lines += [_row(["model", *columns]), _row(["---"] * (len(columns) + 1))]
    lines += [_row([_plain(model), *map(_cell, entries)]) for model, entries in entry_rows(regression)]
    if not_green := _not_green(regression):
        lines += ["", "## Not green", ""]
        lines += [
            f"- **{_plain(entry.title)}: {entry.verdict}.** {_plain(entry.reason)} {_links(entry)}".rstrip()
            for entry in not_green
        ]
    lines += ["", "## Where", "", f"{_plain(regression.machine)}", ""]
    lines += [_row(["package", "version"]), _row(["---"] * 2)]
    lines += [_row([_plain(name), _plain(version)]) for name, version in regression.versions.items()]
    return "\n".join(lines) + "\n"


def _not_green(regression: Regression) -> list[Entry]:
    return [entry_of(cell, result) for cell, result in regression.not_green]


def _row(words: list[str]) -> str:
    return f"| {' | '.join(words)} |"


def _cell(entry: Entry) -> str:
    verdict = entry.verdict if entry.kind == "good" else f"**{entry.verdict}**"
    links = _links(entry) if entry.kind == "good" else ""  # those of the others stand beside their reasons
    return "<br>".join(words for words in (verdict, _plain(entry.metric), _plain(entry.cost), links) if words)


def _links(entry: Entry) -> str:
    return " · ".join(f"[{_plain(words)}]({address})" for words, address in entry.links)


def _plain(words: str) -> str:
    """Words that Markdown and HTML leave as they are."""
    return re.sub(r"([\\`*_{}\[\]|~])", r"\\\1", words.replace("&", "&amp;").replace("<", "&lt;"))
