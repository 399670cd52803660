"""The options of a backend's build, as the backend declares them: a config's `export.engine`, and the flag --engine."""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, get_args, get_origin

from backends.registry import backends, get_backend
from zoo.errors import InputError, nearest
from zoo.options import Options

if TYPE_CHECKING:
    from zoo.config import ModelConfig

Kind = type[Options]


def parse_options(flags: Iterable[str], backend: str) -> dict[str, Any]:
    """From the command line's ``OPTION=VALUE``, by name; lists have commas. Raises InputError that names the flag.

    ``backend``: whose options they are; where it has none, those of all are known, so that a typo is one.
    """
    options: dict[str, Any] = {}
    types = {name: kind for each in _declared(backend) for name, kind in each.types().items()}
    for flag in flags:
        name, separator, text = flag.partition("=")
        if not separator:
            raise InputError(f"--engine {flag}: expected OPTION=VALUE, for example workspace_mib=1024")
        if name not in types:
            raise InputError(f'--engine {flag}: unknown option "{name}"; {nearest(name, types)}')
        options[name] = _value(text, types[name])
    return options


def chosen_options(config: "ModelConfig", backend: str, requested: Mapping[str, Any] | None = None) -> Options | None:
    """The config's options with ``requested`` put over them; None for a backend that has none.

    Those of the config that another backend has, and this one has not, are no fault. Raises InputError.
    """
    own, given = get_backend(backend).options, config.export.engine
    try:
        _check(given)
    except InputError as error:
        raise InputError(f"{config.path}: export.engine: {error}") from error
    if own is None:
        _check(requested or {})
        if requested:
            raise no_options(backend)
        return None
    return own.from_dict({**{name: value for name, value in given.items() if name in own.types()}, **(requested or {})})


def no_options(backend: str) -> InputError:
    """Options for a backend that has none."""
    takers = " or ".join(name for name, other in backends().items() if other.options is not None)
    return InputError(
        f"engine options with backend {backend}: it builds no engine; leave --engine out, or give --backend {takers}"
    )


def options_help() -> str:
    """The options of each backend that has some, in words."""
    kinds: dict[Kind, list[str]] = {}
    for name, backend in backends().items():
        if backend.options is not None:
            kinds.setdefault(backend.options, []).append(name)
    return "; ".join(f"of {', '.join(names)}: {kind.help()}" for kind, names in kinds.items())


def _declared(backend: str) -> list[Kind]:
    own = get_backend(backend).options
    return _all() if own is None else [own]


def _all() -> list[Kind]:
    return list(dict.fromkeys(backend.options for backend in backends().values() if backend.options is not None))


def _check(options: Mapping[str, Any]) -> None:
    """Raises InputError for an option that no backend has, and for a value that is none of a backend that has it."""
    kinds = _all()
    known = dict.fromkeys(name for kind in kinds for name in kind.types())
    for name in options:
        if name not in known:
            raise InputError(f'unknown engine option "{name}"; {nearest(str(name), known)}')
    for kind in kinds:
        kind.from_dict({name: value for name, value in options.items() if name in kind.types()})


def _value(text: str, kind: Any) -> Any:
    """A flag's text as an option's type has it: true, false and whole numbers as what they are."""
    if get_origin(kind) is tuple:
        return [_value(part, get_args(kind)[0]) for part in text.split(",")]
    if kind is str:
        return text
    if kind is float and re.fullmatch(r"\d*\.\d+", text, re.ASCII):
        return float(text)
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return int(text) if re.fullmatch(r"\d+", text, re.ASCII) else text
