"""Whose config a file is: a codebase's of OpenMMLab, or zooport's own."""

from collections.abc import Iterator, Mapping
from typing import Any

from zoo.codebases.codebase import Codebase, known_codebases
from zoo.codebases.config import scope_of, type_name
from zoo.errors import InputError

OTHERS = ("mmpretrain", "mmcls", "mmrotate", "mmpose", "mmocr", "mmagic", "mmedit", "mmaction", "mmdet3d", "mmyolo")
"""Scopes of codebases that are recognised and not taken."""


def codebase_of(content: Mapping[str, Any], where: str) -> Codebase | None:
    """The codebase of a config; None for a config of zooport. `where` names the file.

    Raises InputError for a codebase that is not taken.
    """
    scope = next(_scopes(content), None)
    if scope is None:
        return None
    codebases = known_codebases()
    if scope not in codebases:
        raise InputError(f"{where} is a config of {scope}; zooport takes those of {' and '.join(codebases)}")
    return codebases[scope]


def _scopes(content: Mapping[str, Any]) -> Iterator[str]:
    """What says whose a config is, the clearest first."""
    model = content.get("model")
    if not isinstance(model, Mapping):
        return
    known = (*known_codebases(), *OTHERS)
    named = (scope_of(model.get("type")), model.get("_scope_"), content.get("default_scope"))
    yield from (scope for scope in named if scope in known)
    preprocessor = model.get("data_preprocessor") or content.get("data_preprocessor")
    if isinstance(preprocessor, Mapping):
        kind = type_name(preprocessor.get("type"))
        yield from (scope for scope, codebase in known_codebases().items() if kind in codebase.preprocessors)
