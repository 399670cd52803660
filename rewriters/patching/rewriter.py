"""Declaring function rewriters: what is replaced, by what, why, and for which targets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from types import ModuleType
from typing import Any, Protocol, TypeVar

from packaging.requirements import InvalidRequirement, Requirement

from zoo.dialect import dialect_of
from zoo.errors import ExportError, nearest
from zoo.target import BACKEND_NAME, EXPORTERS, LEVELS, Target

Replacement = TypeVar("Replacement", bound=Callable[..., Any])


@dataclass(frozen=True)
class Limits:
    """The targets that a rewriter is for; None means all.

    `levels`: those of the output. `opset`: (lowest, highest), both included. `library`: a requirement on an installed
    package, "torchvision>=0.28". `lacks`: an ONNX operator that the target's backend lacks by its dialect
    (zoo.dialect), such as "DeformConv".
    Raises ExportError for limits that no target can have.
    """

    backend: str | None = None
    exporter: str | None = None
    opset: tuple[int, int] | None = None
    library: str | None = None
    lacks: str | None = None
    levels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.exporter is not None and self.exporter not in EXPORTERS:
            known = nearest(str(self.exporter), EXPORTERS)
            raise ExportError(f"a rewriter's exporter={self.exporter!r}: no target has it; {known}")
        if self.backend is not None and not BACKEND_NAME.fullmatch(str(self.backend)):
            raise ExportError(f"a rewriter's backend={self.backend!r}: no target has it; give a backend's name")
        if self.levels is not None and not (isinstance(self.levels, tuple) and set(self.levels) <= set(LEVELS)):
            raise ExportError(f"a rewriter's levels={self.levels!r}: expected a tuple of {', '.join(LEVELS)}")
        if self.opset is not None and not (
            isinstance(self.opset, tuple) and len(self.opset) == 2 and self.opset[0] <= self.opset[1]  # noqa: PLR2004
        ):
            raise ExportError(f"a rewriter's opset={self.opset!r}: expected (lowest, highest), both included")
        if self.library is not None:
            try:
                Requirement(self.library)
            except InvalidRequirement as error:
                raise ExportError(
                    f'a rewriter\'s library={self.library!r}: expected a requirement such as "torchvision>=0.28"'
                ) from error

    def admit(self, target: Target) -> bool:
        """Whether the rewriter is for this target."""
        return (
            self.backend in (None, target.backend)
            and self.exporter in (None, target.exporter)
            and (self.opset is None or self.opset[0] <= target.opset <= self.opset[1])
            and (self.lacks is None or self.lacks in dialect_of(target.backend).lacks)
            and (self.levels is None or target.level in self.levels)
            and (self.library is None or _is_installed(self.library))
        )

    def narrower_than(self, other: "Limits") -> bool:
        """Whether these limits admit strictly fewer targets than others, each of them admitted by those."""
        return (
            self != other
            and all(
                theirs in (None, ours)
                for ours, theirs in (
                    (self.backend, other.backend),
                    (self.exporter, other.exporter),
                    (self.library, other.library),
                    (self.lacks, other.lacks),
                )
            )
            and (other.levels is None or (self.levels is not None and {*self.levels} <= {*other.levels}))
            and (
                other.opset is None
                or (self.opset is not None and other.opset[0] <= self.opset[0] and self.opset[1] <= other.opset[1])
            )
        )


@dataclass(frozen=True)
class Rewriter:
    """A replacement for one function or method, with the reason.

    `replacement(original, *args, **kwargs)` takes the original callable first, then what the caller gave; it returns
    NotImplemented for a call that is not its case, and the original runs then. `options`
    names the keyword-only parameters that a config may set. `bypasses` names methods of the target class that the
    replacement no longer calls: a subclass that overrides one would be ignored, so that is an error. `leaves` are
    subclasses whose own method does not need the replacement, and is exported as it is.
    """

    target: type | ModuleType
    attribute: str
    replacement: Callable[..., Any]
    reason: str
    written_for: str
    limits: Limits
    bypasses: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    leaves: tuple[type, ...] = ()

    @property
    def name(self) -> str:
        """Package, class (or module) and attribute, for example ``torchvision.RoIHeads.postprocess_detections``."""
        if isinstance(self.target, ModuleType):
            return f"{self.target.__name__}.{self.attribute}"
        return f"{self.target.__module__.partition('.')[0]}.{self.target.__qualname__}.{self.attribute}"

    def check_target(self) -> None:
        """Raises ExportError where the target has no such attribute, naming the library version it was written for."""
        if not callable(getattr(self.target, self.attribute, None)):
            package = self.target.__name__ if isinstance(self.target, ModuleType) else self.target.__module__
            raise ExportError(
                f"rewriter {self.name}: {package} has no {self.attribute} to replace; it was written for "
                f"{self.written_for}, installed is {_installed(package)}; install that version or fix the rewriter"
            )


REWRITERS: list[Rewriter] = []


def rewrites(
    target: type | ModuleType,
    attribute: str,
    *,
    reason: str,
    written_for: str,
    backend: str | None = None,
    exporter: str | None = None,
    opset: tuple[int, int] | None = None,
    library: str | None = None,
    levels: tuple[str, ...] | None = None,
    bypasses: tuple[str, ...] = (),
    leaves: tuple[type, ...] = (),
) -> Callable[[Replacement], Replacement]:
    """Declare the decorated function as the replacement of `target.attribute` while an export runs.

    `target` is a class or a module, never a string. `written_for` names the library and versions it was tested with.
    `backend`, `exporter`, `opset`, `library` and `levels` limit it to some targets (see Limits). `bypasses`: methods of
    the target class that the replacement no longer calls; a subclass that overrides one is an error. `leaves`:
    subclasses that keep their own method. The keyword-only parameters of the decorated function are its options. Raises
    ExportError where another rewriter of the same target has the same limits.
    """

    def register(replacement: Replacement) -> Replacement:
        defaults = getattr(replacement, "__kwdefaults__", None) or {}
        rewriter = Rewriter(
            target,
            attribute,
            replacement,
            reason,
            written_for,
            Limits(backend, exporter, opset, library, levels=levels),
            bypasses,
            tuple(defaults),
            leaves,
        )
        for other in REWRITERS:
            same = other.target is target and other.attribute == attribute
            if same and other.limits == rewriter.limits:
                raise ExportError(f"rewriter {rewriter.name}: declared twice with the same limits; limit one of them")
        REWRITERS.append(rewriter)
        return replacement

    return register


class _HasLimits(Protocol):
    @property
    def limits(self) -> Limits: ...


Limited = TypeVar("Limited", bound=_HasLimits)


def most_specific(what: str, rivals: Sequence[Limited]) -> Limited:
    """The one whose limits are narrower than those of all others. Raises ExportError where there is none."""
    for one in rivals:
        if all(one is other or one.limits.narrower_than(other.limits) for other in rivals):
            return one
    limits = ", ".join(str(one.limits) for one in rivals)
    raise ExportError(
        f"{what}: {len(rivals)} are for this target ({limits}) and none is narrower than all others; limit one of them "
        "further"
    )


def chosen_for(target: Target) -> list[Rewriter]:
    """The rewriters in force for a target: of several for one attribute, the strictly most specific one.

    In the order of their packages' names, which does not depend on what was imported first. Raises ExportError where
    several admit the target and none is narrower than all others.
    """
    admitted: dict[tuple[int, str], list[Rewriter]] = {}
    for rewriter in REWRITERS:
        if rewriter.limits.admit(target):
            admitted.setdefault((id(rewriter.target), rewriter.attribute), []).append(rewriter)
    chosen = [most_specific(f"rewriter {rivals[0].name}", rivals) for rivals in admitted.values()]
    return sorted(chosen, key=lambda one: one.replacement.__module__.rpartition(".")[0])


def _is_installed(library: str) -> bool:
    requirement = Requirement(library)
    try:
        return requirement.specifier.contains(metadata.version(requirement.name), prereleases=True)
    except metadata.PackageNotFoundError:
        return False


def _installed(module: str) -> str:
    package = module.partition(".")[0]
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return package
