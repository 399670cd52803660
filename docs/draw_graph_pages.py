"""Draw the images of docs/graphs.md and docs/graph_rewriters.md, from the graphs that their code makes.

    python docs/draw_graph_pages.py

Needs matplotlib (extra [train]) and networkx, which torch brings.
"""

import runpy
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import networkx as nx
import onnx
from PIL import Image

mpl.use("Agg")
DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from rewriters.onnx_graph.module_paths import module_path

run_page = runpy.run_path(str(DOCS / "run_page.py"))["run_page"]
Graph = Any  # networkx has no types
LINE = "#555555"
COLOURS = [mpl.colormaps[name](index) for name in ("Pastel1", "Pastel2") for index in range(7)]
ROW, COLUMN = 1.05, 1.25  # inches
DPI = 90
PALETTE = 64  # colours of a file
MARGIN, PASSING = 0.75, 0.7  # columns: beside a graph, and for an edge that passes a row


def main() -> None:
    """Write them all into docs/graphs."""
    silu, graphs = run_page(DOCS / "graph_rewriters.md"), run_page(DOCS / "graphs.md")
    _draw("fuse_silu", {"before": silu["model"], "after fuse_silu": silu["fused"]})
    _draw("extract_submodel", {"the graph": graphs["model"], "module=act": graphs["act"]})


def _draw(name: str, models: dict[str, onnx.ModelProto]) -> None:
    """The graphs of several models side by side, all rows of one height."""
    types = sorted({node.op_type for model in models.values() for node in model.graph.node})
    colours = dict(zip(types, COLOURS, strict=False))
    graphs = {title: _drawn(model.graph) for title, model in models.items()}
    placed = {title: _placed(graph) for title, graph in graphs.items()}
    limits = [(min(x for x, _ in spots.values()), max(x for x, _ in spots.values())) for spots in placed.values()]
    rows = max(-y for spots in placed.values() for _, y in spots.values())
    widths = [right - left + 2 * MARGIN for left, right in limits]
    size = (COLUMN * sum(widths), ROW * (rows + 1))
    figure, axes = plt.subplots(1, len(models), figsize=size, width_ratios=widths, squeeze=False, dpi=DPI)
    for axis, title, (left, right) in zip(axes[0], models, limits, strict=True):
        axis.set_title(title, fontsize=12, fontweight="bold")
        axis.set(xlim=(left - MARGIN, right + MARGIN), ylim=(-rows - 0.5, 0.5))
        axis.axis("off")
        _draw_one(axis, graphs[title], placed[title], colours)
    path = DOCS / "graphs" / f"{name}.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=DPI, bbox_inches="tight", pad_inches=0.1, metadata={"Software": None})
    plt.close(figure)
    Image.open(path).convert("RGB").quantize(PALETTE).save(path, optimize=True)


def _drawn(graph: onnx.GraphProto) -> Graph:
    """Inputs, nodes and outputs of a graph; edges are the tensors between them. Weights are left out."""
    result = nx.DiGraph()
    makers = {value.name: f"in {value.name}" for value in graph.input}
    for value in graph.input:
        result.add_node(f"in {value.name}", label=value.name, kind=None)
    for index, node in enumerate(graph.node):
        path = module_path(node)
        label = node.op_type if path is None else f"{node.op_type}\n{path or '(model)'}"
        result.add_node(index, label=label, kind=node.op_type)
        for name in node.input:
            if name in makers:
                result.add_edge(makers[name], index, label="" if str(makers[name]).startswith("in ") else name)
        makers.update(dict.fromkeys(node.output, index))
    for value in graph.output:
        result.add_node(f"out {value.name}", label=value.name, kind=None)
        result.add_edge(makers[value.name], f"out {value.name}", label="")
    return result


def _placed(graph: Graph) -> dict[Any, tuple[float, float]]:
    """Where everything stands: rows by the longest way from an input, in a row below what it reads.

    An edge that passes rows has a place in each of them, (from, to, row).
    """
    rows = {node: row for row, members in enumerate(nx.topological_generations(graph)) for node in members}
    before = {node: list(graph.predecessors(node)) for node in graph}
    for start, end in graph.edges:
        for row in range(rows[start] + 1, rows[end]):
            spot = (start, end, row)
            rows[spot], before[spot] = row, [start if row == rows[start] + 1 else (start, end, row - 1)]
    places: dict[Any, tuple[float, float]] = {}
    for row in range(max(rows.values()) + 1):
        wished = {
            spot: _mean([places[other][0] for other in before[spot] if other in places])
            for spot, its_row in rows.items()
            if its_row == row
        }
        ordered = sorted(wished, key=lambda spot: (wished[spot], not isinstance(spot, tuple), str(spot)))
        widths = [PASSING if isinstance(spot, tuple) else 1.0 for spot in ordered]
        left = _mean(list(wished.values())) - sum(widths) / 2
        for index, spot in enumerate(ordered):
            places[spot] = (left + sum(widths[:index]) + widths[index] / 2, -float(row))
    return places


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _draw_one(axis: Axes, graph: Graph, places: dict[Any, tuple[float, float]], colours: dict[str, Any]) -> None:
    boxes = {node: _box(axis, places[node], data, colours) for node, data in graph.nodes(data=True)}
    axis.figure.canvas.draw()  # gives the boxes their sizes
    named = set()
    for start, end, data in sorted(graph.edges(data=True), key=lambda edge: places[edge[0]][1] - places[edge[1]][1]):
        passed = [places[spot] for spot in places if isinstance(spot, tuple) and spot[:2] == (start, end)]
        way = [places[start], *passed, places[end]]
        axis.plot(*zip(*way[:-1], strict=True), color=LINE, linewidth=1, zorder=1)
        arrow = {"arrowstyle": "-|>", "color": LINE, "shrinkA": 0, "shrinkB": 0}
        axis.annotate("", _border(axis, boxes[end], way[-2]), way[-2], arrowprops=arrow, zorder=1)
        if data["label"] and data["label"] not in named:
            named.add(data["label"])
            x, y = _mean([way[0][0], way[1][0]]), _mean([way[0][1], way[1][1]])
            style = {"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none"}
            axis.text(x, y + 0.04, data["label"], fontsize=8, ha="center", va="center", bbox=style, zorder=2)


def _border(axis: Axes, box: Any, start: tuple[float, float]) -> tuple[float, float]:
    """Where a line from `start` to the middle of a box meets the box."""
    (x0, y0), (x1, y1) = axis.transData.inverted().transform(box.get_window_extent())
    x, y = (x0 + x1) / 2, (y0 + y1) / 2
    across, down = start[0] - x, start[1] - y
    part = min((half / abs(way) for half, way in (((x1 - x0) / 2, across), ((y1 - y0) / 2, down)) if way), default=0)
    return x + part * across, y + part * down


def _box(axis: Axes, place: tuple[float, float], data: dict[str, Any], colours: dict[str, Any]) -> Any:
    """A node, or an input or output of the graph; gives the patch around its text."""
    op_type, _, path = data["label"].partition("\n")
    style = "round,pad=0.45" if data["kind"] else "square,pad=0.35"
    return axis.text(
        *place,
        f"$\\bf{{{op_type}}}$\n{path}" if path else op_type,
        ha="center",
        va="center",
        fontsize=10,
        linespacing=1.3,
        zorder=3,
        bbox={"boxstyle": style, "fc": colours.get(data["kind"], "white"), "ec": LINE},
    ).get_bbox_patch()


if __name__ == "__main__":
    main()
