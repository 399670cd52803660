"""A row of the table: what is known of a pattern, and what is done about it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from pipeline.preflight.site import Site

Action = Literal["refuse", "warn", "rewrite"]


@dataclass(frozen=True)
class Row:
    """`versions`: backend -> those that it was seen on, in words; they are told, not compared with the installed one,
    for which nobody may have looked. `operators`: () for any. `where`: the rest of the pattern.

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
