"""The registry of graph rewriters, and running several of them on one graph."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

import onnx

from rewriters.family_rewriters import import_all_rewriters
from rewriters.graph_rewriters.option_types import fits, format_type
from zoo.errors import InputError, nearest

Edited = tuple[onnx.ModelProto, Sequence[str]]
"""The model as it is now, and one line for each thing that changed; no lines where there was nothing to do."""
Rewrite = Callable[..., Edited]
"""(model, *, options) -> Edited. May change the model that it is given. Done twice, it changes nothing the second time.

A graph that it does not apply to stays as it is. Raises ExportError, with the reason, where it was asked for something
that the graph cannot give, and InputError for wrong options.
"""


@dataclass(frozen=True)
class GraphRewriter:
    """A rewriter's function under its name; `same_numbers`: whether the graph computes the same afterwards."""

    name: str
    rewrite: Rewrite
    same_numbers: bool

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (self.rewrite.__doc__ or "").partition("\n")[0]

    @property
    def options(self) -> dict[str, Any]:
        """The types of its options by name."""
        hints = get_type_hints(self.rewrite)
        parameters = inspect.signature(self.rewrite).parameters.values()
        return {option.name: hints[option.name] for option in parameters if option.kind is option.KEYWORD_ONLY}

    @property
    def defaults(self) -> dict[str, Any]:
        """Those of its options that can be left out."""
        return self.rewrite.__kwdefaults__ or {}

    def check(self, options: Mapping[str, Any]) -> None:
        """Raises InputError for an option that it has not, that is of another type, or that is missing."""
        for option, value in options.items():
            if option not in self.options:
                known = nearest(option, self.options) if self.options else "it has none"
                raise InputError(f'graph rewriter {self.name}: unknown option "{option}"; {known}')
            if not fits(value, self.options[option]):
                expected = format_type(self.options[option])
                raise InputError(f"graph rewriter {self.name}: option {option} is {value!r}, expected {expected}")
        missing = [option for option in self.options if option not in self.defaults and option not in options]
        if missing:
            raise InputError(f"graph rewriter {self.name}: option {', '.join(missing)} is missing")


@dataclass(frozen=True)
class Rewritten:
    """What one graph rewriter changed, in words."""

    name: str
    changes: tuple[str, ...]


GRAPH_REWRITERS: dict[str, GraphRewriter] = {}


def graph_rewriter(*, same_numbers: bool = True) -> Callable[[Rewrite], Rewrite]:
    """Register a function (model, *, options) -> Edited under its own name."""

    def register(rewrite: Rewrite) -> Rewrite:
        GRAPH_REWRITERS[rewrite.__name__] = GraphRewriter(rewrite.__name__, rewrite, same_numbers)
        return rewrite

    return register


def all_graph_rewriters() -> Mapping[str, GraphRewriter]:
    """By name, those of the families of models as well, which are imported with their other rewriters."""
    import_all_rewriters()
    return GRAPH_REWRITERS


def rewrite_graph(
    model: onnx.ModelProto, steps: Sequence[str | Mapping[str, Any]]
) -> tuple[onnx.ModelProto, tuple[Rewritten, ...]]:
    """Apply graph rewriters in order: names, or {"name": ..., option: value}. The model given stays as it is.

    Raises InputError for an unknown name or a wrong option, naming the nearest, before anything runs; ExportError where
    a rewriter refuses the graph.
    """
    chosen = check_steps(steps)
    result = onnx.ModelProto()
    result.CopyFrom(model)
    applied = []
    for rewriter, options in chosen:
        result, changes = rewriter.rewrite(result, **options)
        applied.append(Rewritten(rewriter.name, tuple(changes)))
    return result, tuple(applied)


def check_steps(steps: Sequence[str | Mapping[str, Any]]) -> list[tuple[GraphRewriter, dict[str, Any]]]:
    """The rewriters of the steps, with their options. Raises InputError as rewrite_graph does."""
    return [_chosen(step) for step in steps]


def _chosen(step: str | Mapping[str, Any]) -> tuple[GraphRewriter, dict[str, Any]]:
    options = {"name": step} if isinstance(step, str) else dict(step)
    name = str(options.pop("name", None))
    rewriter = GRAPH_REWRITERS.get(name) or all_graph_rewriters().get(name)
    if rewriter is None:
        raise InputError(f'unknown graph rewriter "{name}"; {nearest(name, GRAPH_REWRITERS)}')
    rewriter.check(options)
    return rewriter, options
