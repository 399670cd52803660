"""The page of the table of other people's models: a section for each kind, and a line for each model and exporter."""

from collections.abc import Mapping
from textwrap import shorten
from typing import Any

from matrix import EXPORTERS
from own_model_case import BATCHES, Kind

Cells = dict[str, dict[str, Any]]
"""By 'KIND | MODEL | EXPORTER | STAGE'."""
STAGES = ("proof", "latency")
"""Those of own_model_cell, which takes long to import."""
MEGABYTE = 1e6
REASON = 160  # characters of what torch refuses
HEADS = (
    *("model", "exporter", "verdict", "largest error", "nodes", "of eager", "of torch's export", "batch"),
    *("second size", "torch's export alone", "OpenVINO", "tensorrt_rtx"),
)
INTRO = (
    "Models that are not the zoo's, with seeded random weights, on shipped images: ONNX Runtime against the unpatched "
    f"model, at the [gates of every deployment](../deployments.md), batches {' and '.join(map(str, BATCHES))} and a "
    "second size from one file. Largest error: of the output that is named. Nodes: of our graph, and of torch's own "
    "export without zooport, with the same dynamic axes. Latency: our graph's time in ONNX Runtime over that of eager "
    "PyTorch and of torch's own export, each on one thread, the median of interleaved rounds at batch 1; rough "
    "for a model that takes a few milliseconds. OpenVINO: the same comparison there. tensorrt_rtx: an engine of a "
    "fixed size and a dynamic batch was built on the CPU; its numbers were not computed. torchvision's other models: "
    "[its detectors](torchvision_matrix.md) and [segmentation matrix](segmentation_matrix.md)."
)
UNTIMED = "Latency: a dash where `--stages latency` has not run yet, which needs an idle machine."
LOADED = (
    "Latency was measured on {machines}. Meanwhile other programs kept {least:.1f} to {most:.1f} of its threads busy; "
    "above 0.5 a ratio is rough."
)
OF_RAW = (
    "torch's own export is of the models' raw outputs, because it takes no loop over the images of a batch. Our graph "
    "has the post-processing as well, and the ratio to torch's export counts it against ours."
)


def machines(state: Cells, stage: str) -> str:
    """Those on which the stage's cells ran, and with which packages."""
    cells = [cell for key, cell in state.items() if _is(key, stage) and "machine" in cell]
    return " and ".join(sorted({f"{cell['machine']}; {cell['made_of'].partition('; ')[2]}" for cell in cells}))


def _is(key: str, stage: str) -> bool:
    return key.rpartition(" | ")[2] == stage


def latency_note(state: Cells) -> str:
    """Whether the machine was shared when latency was measured."""
    loads = [cell["others"] for key, cell in state.items() if _is(key, "latency") and "others" in cell]
    if not loads:
        return UNTIMED
    words = LOADED.format(least=min(loads), most=max(loads), machines=machines(state, "latency"))
    return f"{words} {UNTIMED}"


def table(kind: Kind, state: Cells) -> str:
    """A section: a line for each model and exporter that was run, then what was refused or failed, with the reason."""
    lines: list[str] = []
    reasons: list[str] = []
    missing: list[str] = []
    of_raw = False
    for name in kind.cases:
        left = []
        for exporter in EXPORTERS:
            proof, latency = (state.get(f"{kind.name} | {name} | {exporter} | {stage}") for stage in STAGES)
            if proof is None:
                left.append(exporter)
                continue
            of_raw |= proof.get("plain", {}).get("level") == "raw"
            words, notes = _words(proof, latency or {})
            lines.append(f"| {' | '.join([name, exporter, *words])} |")
            reasons += [f"- {name}, {exporter}: {note}" for note in notes]
        if left:
            missing.append(name if len(left) == len(EXPORTERS) else f"{name} by {left[0]}")
    parts = [f"## {kind.title}", OF_RAW if of_raw else ""]
    if not lines:
        return "\n\n".join([parts[0], "Not run yet."])
    parts += ["\n".join([f"| {' | '.join(HEADS)} |", "|---" * len(HEADS) + "|", *lines]), "\n".join(reasons)]
    parts.append(f"Not run yet: {', '.join(missing)}." if missing else "")
    return "\n\n".join(filter(None, parts))


def _words(cell: Mapping[str, Any], latency: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The cell's columns behind the exporter, and the notes below the table."""
    notes: list[str] = []

    def short(what: str, words: str) -> str:
        """A refusal's or fault's reason goes below the table."""
        verdict, colon, _ = words.partition(": ")
        notes.extend([f"{what} {words}"] if colon else [])
        return verdict

    second = short("second size", cell.get("second_size", ""))
    if cell["verdict"] != "passed":
        notes.append(f"{cell['verdict']}: {cell['reason']}")
        return [cell["verdict"], *[""] * 5, second, *[""] * 3], notes
    plain, engine = cell["plain"], cell["engine"]
    name, value, unit = max(cell["errors"], key=lambda error: error[1] or 0.0)
    if plain["verdict"] == "refused":
        reason = shorten(plain["reason"].replace("`", "'"), REASON, placeholder=" ...")  # may be markup to a reader
        notes.append(f"torch's export alone refused: `{reason}`")
    if engine["verdict"] == "refused":
        notes.append(f"tensorrt_rtx refused: {engine['reason']}")
    built = engine["verdict"] == "passed"
    return [
        "passed" if not cell["borderline"] else f"passed ({cell['borderline']} borderline)",
        f"{value:.1e} {unit} ({name})".replace("  ", " "),
        f"{cell['nodes']} / {plain.get('nodes', '-')}",
        *("-" if latency.get(base) is None else f"{latency[base]:.2f}" for base in ("of_eager", "of_plain")),
        ", ".join(map(str, BATCHES)),
        second,
        plain["verdict"],
        short("OpenVINO", cell["openvino"]),
        f"{engine['bytes'] / MEGABYTE:.1f} MB" if built else "refused",
    ], notes
