"""The page of the comparison with mmdeploy: how many rows of each tool are equal, and every cell."""

import re
from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

from mmdeploy_peer_rows import DETECTORS, NAMES, PASSED, PEERS, REFUSED, SEGMENTORS, TOOLS, WRONG

PROOF, LATENCY = "proof", "latency"
REASON = 160  # characters
FOLDERS = re.compile(r"(?<![\w.])/?(?:[\w.+-]+/){2,}")
"""Those of a path in a message, of the machine that it ran on."""
COLUMNS = ("batch 1", "batch 3", "second size")
HEADS = ("model", "tool", *COLUMNS, "largest error", "nodes")
OF_EAGER = "of eager"
GROUPS: Mapping[str, Sequence[str]] = {
    "detectors": DETECTORS,
    "segmentors, whole": [name for name in SEGMENTORS if name.endswith("whole")],
    "segmentors, slide": [name for name in SEGMENTORS if name.endswith("slide")],
}
INTRO = (
    "The same small models of mmdetection and mmsegmentation, with random weights and the batch-norm statistics of "
    "images, exported by zooport, by onedl-mmdeploy and by mmdeploy, run in ONNX Runtime, and compared with the "
    "library's own eager inference: mmdetection's `predict`, and mmsegmentation's inference in the `mode` of the "
    "config. *equal*: boxes as sets, each with its label within 0.05 pixels and its score within 0.001, none missing "
    "and none more; masks but for 0.001 of their pixels; logits within 0.0001 of their range. A row is equal if "
    "batches 1 and 3 are. Every file has a dynamic batch, height and width, unless the second size is refused.\n\n"
    "What the peers are given: zooport's stand-in for mmcv's compiled operators; torch.onnx.export by torchscript, the "
    "only exporter that they know; deploy configs as theirs for ONNX Runtime with a dynamic shape, written by hand, "
    "since their wheels bring none, and not compared with their repository, with "
    "logits as output for segmentors; opset 11, which is theirs, and opset 16 where 11 is not equal, the better of the "
    "two. Their compiled graph optimiser and operators are left out. onedl-mmdeploy is unpacked from its wheel for "
    "Windows, as it has no other. They take normalised images, and zooport's graph of a detector normalises, which "
    "counts among its nodes.\n\n"
    "Rules of the peers that differ from mmdetection's, by reading their source. Of a proposal, their `BBoxHead` "
    "keeps the box of its best class and scores all classes with it; mmdetection has a box for each class. Their "
    "`RTMDetHead` does not clip boxes to the image. Their `YOLOXHead` gives all classes of a prior; mmdetection gives "
    "its best class. Their other dense heads keep the best `nms_pre` priors of a level with "
    "all classes; mmdetection keeps the best `nms_pre` pairs of prior and class. The models here have `nms_pre=1000`, "
    "as most of mmdetection's configs, of which small images have no more than a part, so the last rule decides "
    "little here. A small model with random weights has many scores near each other: how many boxes of a trained "
    "model differ is not measured here."
)
LOADED = (
    "Latency: the graph's time in ONNX Runtime over eager's, each on one thread, the median of interleaved rounds at "
    "batch 1, of models so small that fixed costs count most. Meanwhile other programs kept {least:.1f} to {most:.1f} "
    "threads of the machine busy; above 0.5 a ratio is rough."
)
UNTIMED = "Latency is not in this table: `--latency` measures it, on an idle machine."
State = Mapping[str, Any]


def cell_of(state: State, name: str, tool: str, stage: str = PROOF) -> Mapping[str, Any] | None:
    """None: not run yet."""
    found: Mapping[str, Any] | None = state.get(f"{name} | {tool} | {stage}")
    return found


def latency_note(state: State) -> str:
    """Whether latency was measured, and how busy the machine was."""
    loads = [cell["others"] for key, cell in state.items() if key.endswith(LATENCY) and "others" in cell]
    return LOADED.format(least=min(loads), most=max(loads)) if loads else UNTIMED


def summary(state: State) -> str:
    """A line for each tool: equal rows of those that were run, by group."""
    lines = [f"| tool | {' | '.join(GROUPS)} | second size |", "|---" * (len(GROUPS) + 2) + "|"]
    for tool in TOOLS:
        words = []
        for names in GROUPS.values():
            cells = [cell for name in names if (cell := cell_of(state, name, tool))]
            words.append(f"{sum(cell['verdict'] == PASSED for cell in cells)} of {len(cells)}")
        every = [cell for name in NAMES if (cell := cell_of(state, name, tool))]
        second = sum(cell.get("runs", {}).get(COLUMNS[2]) == "equal" for cell in every)
        lines.append(f"| {title(state, tool)} | {' | '.join(words)} | {second} of {len(every)} |")
    return "\n".join(lines)


def title(state: State, tool: str) -> str:
    """With the exporter, and the version of a peer that ran."""
    if tool not in PEERS:
        name, exporter = tool.split()
        return f"{name}, {exporter}"
    versions = {cell["version"] for name in NAMES if (cell := cell_of(state, name, tool)) and "version" in cell}
    return f"{' '.join([tool, *sorted(versions)])}, torchscript"


def table(state: State) -> str:
    """A line for each row and tool that was run."""
    timed = any(key.endswith(LATENCY) for key in state)
    heads = (*HEADS, OF_EAGER) if timed else HEADS
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name in NAMES:
        for tool in TOOLS:
            cell, latency = (cell_of(state, name, tool, stage) for stage in (PROOF, LATENCY))
            if cell is None:
                continue
            words = [name, tool, *columns(cell)]
            if timed:
                ratio = (latency or {}).get("of_eager")
                words.append("-" if ratio is None else f"{ratio:.2f}")
            lines.append(f"| {' | '.join(words)} |")
    missing = [name for name in NAMES if not any(cell_of(state, name, tool) for tool in TOOLS)]
    return "\n".join([*lines, *(["", f"Not run yet: {'; '.join(missing)}."] if missing else [])])


def columns(cell: Mapping[str, Any]) -> list[str]:
    """Those of one cell behind model and tool."""
    if "runs" not in cell:
        kind = REFUSED if cell["verdict"] == REFUSED else "failed"
        return [short(f"{kind}: {cell['reason']}"), "", "", "", ""]
    runs = [short(cell["runs"][name]) for name in COLUMNS]
    nodes = f"{cell['nodes']}" + (f" (opset {cell['opset']})" if cell.get("opset", 11) != 11 else "")
    return [*runs, largest(cell["errors"]), nodes]


def largest(errors: Mapping[str, Mapping[str, float]]) -> str:
    """Of batches 1 and 3, and the second size: of what is matched."""
    found: dict[str, float] = {}
    for one in errors.values():
        for name, error in one.items():
            found[name] = max(error, found.get(name, 0.0))
    return ", ".join(f"{name} {error:.1e}" for name, error in found.items())


def short(words: str) -> str:
    """A verdict, with a long reason cut off, and without what a table would read as markup."""
    verdict, colon, reason = words.partition(": ")
    if not colon:
        return words
    plain = " ".join(FOLDERS.sub("", reason).replace("`", "'").replace("|", "/").split())
    return f"{verdict}: `{shorten(plain, REASON, placeholder=' ...')}`"


def is_wrong(cell: Any) -> bool:
    """Of zooport's own cells: not a refusal, which is no number."""
    return isinstance(cell, dict) and cell.get("verdict") in (WRONG, "failed")
