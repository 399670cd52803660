"""The graph rewriters on the command line: what there is, and a step as `--step NAME OPTION=VALUE` gives it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zoo.errors import InputError
from zooport.parser import literal_or_text

if TYPE_CHECKING:
    from rich.console import Console


def show_list(console: "Console") -> Mapping[str, Any]:
    """All rewriters; the same as data."""
    from rewriters.graph_rewriters import all_graph_rewriters
    from rewriters.graph_rewriters.option_types import format_type

    rewriters = []
    for rewriter in all_graph_rewriters().values():
        console.print(f"{rewriter.name}: {rewriter.summary}", soft_wrap=True, highlight=False)
        shown = []
        for option, hint in rewriter.options.items():
            default = f"default {rewriter.defaults[option]!r}" if option in rewriter.defaults else "required"
            console.print(f"    {option}: {format_type(hint)}; {default}", soft_wrap=True, highlight=False)
            shown.append({"name": option, "type": format_type(hint), "required": option not in rewriter.defaults})
        rewriters.append({"name": rewriter.name, "summary": rewriter.summary, "options": shown})
    return {"rewriters": rewriters}


def parse_step(arguments: Sequence[str]) -> dict[str, Any]:
    """A step as rewrite_graph takes it. Raises InputError for what is not OPTION=VALUE."""
    name, *pairs = arguments
    step: dict[str, Any] = {"name": name}
    for pair in pairs:
        option, equals, value = pair.partition("=")
        if not equals or not option:
            raise InputError(f'--step {name}: "{pair}" is not OPTION=VALUE')
        if option in step:
            raise InputError(f"--step {name}: {option} is given twice")
        step[option] = typed(name, option, value)
    return step


def typed(rewriter: str, option: str, text: str) -> Any:
    """A Python literal, or else the text; also the text where only that is of the option's type (a tensor named 12)."""
    from rewriters.graph_rewriters import all_graph_rewriters
    from rewriters.graph_rewriters.option_types import fits

    value = literal_or_text(text)
    known = all_graph_rewriters()
    hint = known[rewriter].options.get(option, Any) if rewriter in known else Any
    return text if fits(text, hint) and not fits(value, hint) else value
