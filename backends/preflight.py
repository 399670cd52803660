"""What a backend says of graphs before they are built: rows of a pattern and what is done about it.

Conditions read a node by the interface here, and import neither onnx nor what edits graphs: production imports them
never, but a backend's folder stays as light as the rest. pipeline.preflight applies the rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from numpy.typing import NDArray

from zoo.target import Target

Action = Literal["refuse", "warn", "rewrite"]


class Node(Protocol):
    """What is read of an ONNX node."""

    name: str
    op_type: str
    domain: str

    @property
    def input(self) -> Sequence[str]:
        """The names of its inputs, "" for one that is left out."""

    @property
    def output(self) -> Sequence[str]:
        """The names of its outputs."""


class Site(Protocol):
    """A node where it stands, in a graph that is meant for a target."""

    @property
    def node(self) -> Node:
        """The node itself."""

    @property
    def target(self) -> Target:
        """What the graph is for."""

    @property
    def standard(self) -> bool:
        """Whether it is in the domain of ONNX's own operators."""

    @property
    def defined(self) -> bool:
        """Whether ONNX has the operator, or the model defines it as a function."""

    def attribute(self, name: str, default: Any = None) -> Any:
        """Its value; text as str."""

    def input(self, index: int) -> str:
        """The name of an input, "" where it is left out."""

    def constant(self, index: int) -> NDArray[Any] | None:
        """The value of an input that is a constant, else None."""

    def fixed(self, index: int) -> bool:
        """Whether an input is computed from constants alone."""

    def maker(self, index: int) -> "Site | None":
        """The node that makes an input, where it stands in the same graph."""

    def readers(self) -> "Sequence[Site]":
        """The nodes of the same graph that read any of its outputs."""

    def kind(self, name: str) -> str:
        """The dtype of a value by ONNX's name in small letters ("float", "uint8"); "" where it is not known."""

    def shape(self, name: str) -> list[int | None] | None:
        """The sizes of a value, None for one that varies; None where the number of axes is not known."""


@dataclass(frozen=True)
class Row:
    """`versions`: backend -> those that it was seen on, in words; they are reported, not compared with the installed
    one, for which nobody may have looked. `operators`: () for any. `where`: the rest of the pattern.

    `why` completes the sentence "node X: ...". `rewriter`: a graph rewriter's name, where the action is "rewrite".
    `source`: where that is known from; "measured" means tests/pipeline/preflight.
    """

    name: str
    versions: Mapping[str, str]
    operators: tuple[str, ...]
    where: Callable[[Site], bool]
    action: Action
    why: str
    cure: str
    source: str
    rewriter: str = ""

    def hits(self, site: Site) -> bool:
        """Whether the row is about that node, for the site's target."""
        return (
            site.target.backend in self.versions
            and (not self.operators or (site.node.op_type in self.operators and site.standard))
            and self.where(site)
        )


def always(_site: Site) -> bool:
    """The operator alone."""
    return True


def attribute_in(name: str, *values: object) -> Callable[[Site], bool]:
    """An attribute has one of the values."""
    return lambda site: site.attribute(name) in values


def undefined(site: Site) -> bool:
    """An operator that neither ONNX nor the model defines."""
    return not site.defined


def doubled_indices(site: Site) -> bool:
    """A ScatterND without a reduction whose indices are constants, some of them equal."""
    indices = site.constant(1)
    if indices is None or site.attribute("reduction", "none") != "none":
        return False
    places = indices.reshape(-1, indices.shape[-1])
    return len({tuple(place) for place in places.tolist()}) < len(places)


def reduces(site: Site) -> bool:
    """A scatter with a reduction."""
    return bool(site.attribute("reduction", "none") != "none")


def loses_updates(site: Site) -> bool:
    """A scatter with a reduction, but for a maximum of which is seen what it lost: Gather, then Less."""
    if site.attribute("reduction") != "max":
        return reduces(site)
    gathers = (reader for reader in site.readers() if reader.node.op_type == "Gather")
    return not any(after.node.op_type == "Less" for gather in gathers for after in gather.readers())


def cubic_volume(site: Site) -> bool:
    """Cubic resizing of three axes."""
    shape = site.shape(site.input(0))
    return bool(site.attribute("mode") == "cubic") and shape is not None and len(shape) > 4  # noqa: PLR2004  # N, C, H, W
