"""docs/measured/gpu.md, made of the findings of benchmarks/gpu/run.py: every figure, every fault.

    python benchmarks/gpu/page.py FINDINGS_FOLDER ... --page docs/measured/gpu.md

Of a measurement that one device made more than once, the last one that found anything counts. Each device has a
section of its own.
Without findings the page says that there are none.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:1] = [str(ROOT), str(ROOT / "benchmarks")]

from measured import write_page

from gpu.kept import read_findings
from gpu.paths import FINDINGS
from gpu.scheduling import OVERTIME
from gpu.stage import Figure, Stage, stages

TITLE = "On a GPU"
COMMAND = "benchmarks/gpu/page.py"
NONE = (
    "No machine with a GPU was available to us, so **nothing on this page was measured**. The measurements are ready: "
    "[the GPU kit](../gpu.md) runs them, and the tests rehearse each of its stages on a CPU."
)
SOME = "What zooport does on a machine with a GPU, by the stages of [the GPU kit](../gpu.md)."


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, default=[FINDINGS], help="default: where run.py writes")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/measured/gpu.md")
    options = parser.parse_args(arguments)
    records: dict[str, dict[str, Any]] = {}
    made = [(name, record) for folder in options.folders for name, record in read_findings(folder).items()]
    for name, record in sorted(made, key=lambda stage: str(stage[1]["began"])):
        if not record["rehearsal"]:
            devices, device = records.setdefault(name, {}), str(record["facts"]["device"])
            devices[device] = _joined(devices[device], record) if device in devices else record
    write_page(options.page, TITLE, SOME if records else NONE, COMMAND, page(records, list(stages().values())))
    return 0


def page(records: Mapping[str, Mapping[str, Any]], known: Sequence[Stage]) -> str:
    """A section for each stage, run or not. `records`: of each stage, by device."""
    return "\n\n".join(_section(stage, records.get(stage.name, {})) for stage in known)


def _joined(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Two records of one stage, as one. What neither has measured was left out."""
    newer = {name: cell for name, cell in second["cells"].items() if name not in first["cells"] or not _is_empty(cell)}
    cells = first["cells"] | newer
    left_out = [name for name in dict.fromkeys([*first["left_out"], *second["left_out"]]) if name not in cells]
    seconds, bound = (first[name] + second[name] for name in ("seconds", "bound"))
    return {**second, "cells": cells, "left_out": left_out, "seconds": seconds, "bound": bound}


def _section(stage: Stage, devices: Mapping[str, Mapping[str, Any]]) -> str:
    parts = [f"## Stage: {stage.name}", stage.question]
    for device, record in devices.items():
        parts += [f"### {device}", *_record(record)]
    return "\n\n".join(parts if devices else [*parts, "Not run."])


def _record(record: Mapping[str, Any]) -> Iterator[str]:
    """What one device gave."""
    known = ", ".join(f"{name} {value}" for name, value in record["facts"].items() if value is not None)
    yield f"{record['began']}, {record['seconds']:.0f} s. {known}."
    if record["lack"]:
        yield f"Could not run: {record['lack']}."
    cells = [cell for cell in record["cells"].values() if not _is_empty(cell)]
    empty = [name for name, cell in record["cells"].items() if _is_empty(cell)]
    for kind in dict.fromkeys(cell["kind"] for cell in cells):
        alike = [cell for cell in cells if cell["kind"] == kind]
        yield f"#### {kind}"
        yield from _table(alike)
    if faults := list(_faults(cells)):
        yield "Faults:"
        yield "\n".join(faults)
    if left_out := [*record["left_out"], *empty]:
        kinds = Counter(name.partition(" | ")[0] for name in left_out)
        words = "; ".join(f"{kind} ({count})" for kind, count in kinds.items())
        yield f"Left out, because the {record['bound']:.0f} s were over: {words}."


def _is_empty(cell: Mapping[str, Any]) -> bool:
    """Whether its time was over before it had found anything."""
    return (cell["ended"] or "").startswith(OVERTIME) and not (cell["figures"] or cell["faults"] or cell["lack"])


def _table(cells: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The cells that have figures, by subject."""
    rows = [cell for cell in cells if cell["figures"]]
    if not rows:
        return
    heads = list(dict.fromkeys(name for cell in rows for name, figure in cell["figures"].items() if figure is not None))
    lines = [["", *heads], ["---"] * (len(heads) + 1)]
    lines += [[cell["subject"], *(_words(cell["figures"].get(head)) for head in heads)] for cell in rows]
    yield "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _faults(cells: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for cell in cells:
        where = f"- {cell['kind']}, {cell['subject']}"
        if cell["lack"]:
            yield f"{where}: could not run: {cell['lack']}"
        yield from (f"{where}, {step}: {fault}" for step, fault in cell["faults"].items())
        if cell["ended"]:
            yield f"{where}: {cell['ended']}"


def _words(figure: Figure) -> str:
    """A figure in a cell of a table, whose columns a text must not break."""
    if figure is None:
        return ""
    if isinstance(figure, bool):
        return "yes" if figure else "**no**"
    return str(figure).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
