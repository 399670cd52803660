"""The context in which rewriters are in force, and the gate that keeps them from acting anywhere else.

Patches go in on entry and come out on exit, also after an exception and also nested. A patched callable is a
dispatcher that runs the replacement only for the thread that exports and only while torch exports to ONNX; every
other caller gets the original.
"""

import functools
import inspect
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import FunctionType, ModuleType
from typing import Any

import torch

from rewriters.patching.holders import Holders, named_values
from rewriters.patching.origin import named
from rewriters.patching.rewriter import Rewriter, chosen_for
from zoo.errors import ExportError, InputError
from zoo.target import Target

EXPORT_LOCK = threading.RLock()  # torch's exporters and the patches are process-wide: one export at a time
_ORIGINAL = "__zooport_original__"
_active = threading.local()
_holders = Holders()


class Session:
    """One entry into the context: which rewriters are in force, and how often each one acted."""

    def __init__(
        self, target: Target, rewriters: list[Rewriter], options: Mapping[str, Mapping[str, Any]], eager: bool
    ) -> None:
        self.target = target
        self.rewriters = rewriters
        self.options = options
        self.hits: Counter[str] = Counter()
        self._eager = eager
        self._thread = threading.get_ident()

    def acts(self) -> bool:
        """Whether the calling thread gets the replacements now."""
        return threading.get_ident() == self._thread and (self._eager or _is_in_export())


def _is_in_export() -> bool:
    """As torch itself says, also where a rewriter replaces its function: that one asks this."""
    function = torch.onnx.is_in_onnx_export
    return bool(getattr(function, _ORIGINAL, function)())


@contextmanager
def rewriting(
    target: Target, *, options: Mapping[str, Mapping[str, Any]] | None = None, eager: bool = False
) -> Iterator[Session]:
    """Put the rewriters for `target` in force; yields the Session that counts their hits.

    `options`: {rewriter name: {option: value}}. `eager` lets the replacements act outside an export as well, so that
    a test can compare them with the originals. Exports of other threads wait until the context is left.
    Raises ExportError where a target does not exist, and InputError for an unknown option; nothing stays patched then.
    """
    rewriters = chosen_for(target)
    options = options or {}
    _check_options(rewriters, options)
    with EXPORT_LOCK, ExitStack() as undo:
        session = Session(target, rewriters, options, eager)
        _patch(rewriters, session, undo)
        outer = getattr(_active, "session", None)
        _active.session = session
        undo.callback(setattr, _active, "session", outer)
        yield session


def active_target() -> Target:
    """The target of the export that this thread runs; for use inside replacements. Raises ExportError outside one."""
    session: Session | None = getattr(_active, "session", None)
    if session is None:
        raise ExportError("active_target: no export runs in this thread; call it inside `rewriting(target)`")
    return session.target


def _check_options(rewriters: list[Rewriter], options: Mapping[str, Mapping[str, Any]]) -> None:
    by_name = {rewriter.name: rewriter for rewriter in rewriters}
    for name, values in options.items():
        known = by_name[name].options if name in by_name else ()
        for option in values:
            if option not in known:
                raise InputError(f'rewriter {name} has no option "{option}"; it has: {", ".join(known) or "none"}')


def _patch(rewriters: list[Rewriter], session: Session, undo: ExitStack) -> None:
    for rewriter in rewriters:
        rewriter.check_target()
    functions = [_current(rewriter) for rewriter in rewriters if isinstance(rewriter.target, ModuleType)]
    places_of = _holders.find({_original(function): function for function in functions})
    dispatchers: dict[int, object] = {}
    undo.callback(_put_back, dispatchers)
    for rewriter in rewriters:
        current = _current(rewriter)
        original = _original(current)  # nested: the inner session replaces, it does not stack
        dispatcher = _dispatcher(rewriter, original, session)
        _share_operator(original, dispatcher, undo)
        places: list[tuple[type | ModuleType, str]] = [(rewriter.target, rewriter.attribute)]
        if isinstance(rewriter.target, ModuleType):
            dispatchers[id(dispatcher)] = current
            places += places_of[original]  # ``from x import f``
        is_static = isinstance(inspect.getattr_static(rewriter.target, rewriter.attribute), staticmethod)
        for owner, name in dict.fromkeys(places):
            _set(owner, name, staticmethod(dispatcher) if is_static else dispatcher, undo)


def _current(rewriter: Rewriter) -> Any:
    return getattr(rewriter.target, rewriter.attribute)


def _original(function: Any) -> Any:
    return getattr(function, _ORIGINAL, function)


def _dispatcher(rewriter: Rewriter, original: Callable[..., Any], session: Session) -> Callable[..., Any]:
    watch = named  # as a variable of the function: it gets the original's globals below

    def dispatch(*args: Any, **kwargs: Any) -> Any:
        if not session.acts():
            return original(*args, **kwargs)
        options = session.options.get(rewriter.name, {})
        with watch(rewriter.name) as outside:
            result = rewriter.replacement(outside(original), *args, **kwargs, **options)
        if result is NotImplemented:  # a call that is not the rewriter's case
            return original(*args, **kwargs)
        session.hits[rewriter.name] += 1
        return result

    # torchvision compiles some callers of what we patch (script_if_tracing); the compiler must see the original, and
    # looks its names up among the globals of what it was given
    if isinstance(original, FunctionType):
        dispatch = FunctionType(dispatch.__code__, original.__globals__, closure=dispatch.__closure__)
    functools.update_wrapper(dispatch, original)
    setattr(dispatch, _ORIGINAL, original)
    if session.target.exporter == "torchscript" and isinstance(original, FunctionType):
        _share_overloads(original, dispatch)
    dispatch.__prepare_scriptable__ = lambda: original  # type: ignore[attr-defined]
    return dispatch


def _share_operator(original: Callable[..., Any], dispatch: Callable[..., Any], undo: ExitStack) -> None:
    """The compiler knows a function of C++ by the very object, and takes none of Python for it."""
    operators = torch.jit._builtins._get_builtin_table()  # type: ignore[no-untyped-call]  # noqa: SLF001  # no public name
    if (operator := operators.get(id(original))) is not None:
        operators[id(dispatch)] = operator
        undo.callback(operators.pop, id(dispatch))


def _share_overloads(original: Callable[..., Any], dispatch: Callable[..., Any]) -> None:
    """The compiler keeps a function's overloads, as interpolate has, for the very object that had them first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch deprecates what torchvision compiles by
        overloads = torch.jit._script._get_overloads(original)  # type: ignore[no-untyped-call]  # noqa: SLF001  # no public name
        if overloads:
            torch.jit._state._set_jit_overload_cache(dispatch, overloads)  # noqa: SLF001  # no public name


def _set(owner: type | ModuleType, name: str, value: object, undo: ExitStack) -> None:
    if name in vars(owner):
        undo.callback(setattr, owner, name, vars(owner)[name])
    else:  # inherited: what was not in the class itself must not be left in it
        undo.callback(delattr, owner, name)
    setattr(owner, name, value)


def _put_back(dispatchers: Mapping[int, object]) -> None:
    """Modules that were first imported while the patches were in hold dispatchers; they get what they asked for."""
    for _, module in list(_holders.changed()):
        for name, value in named_values(module, dispatchers):
            setattr(module, name, dispatchers[id(value)])
