"""The parts of mmseg's segmentors that zooport has: each is a module of zoo.codebases.mmseg.parts that registers it.

A part takes the keys of its section one by one. A key that it does not know is refused by name: it may change the
model. TRAINING is the list of those that cannot, and that are dropped.
"""

from collections.abc import Callable, Mapping
from typing import Any

from zoo.codebases.config import type_name
from zoo.codebases.values import NUMBER, SECTION, TEXT, Kind, read
from zoo.errors import InputError, nearest
from zoo.subpackages import import_modules

PARTS = "zoo.codebases.mmseg.parts"
TRAINING = (
    "init_cfg",
    "pretrained",
    "loss_decode",
    "sampler",
    "ignore_index",
    "dropout_ratio",
    "drop_rate",
    "attn_drop_rate",
    "with_cp",
    "norm_eval",
    "frozen_stages",
    "zero_init_residual",
)
BATCH_NORMS = ("BN", "BN2d", "SyncBN", "MMSyncBN")
NORM_EPS = 1e-5  # of batch norms and layer norms where nothing is said
_REQUIRED = object()


class UnknownPartError(InputError):
    """A part that zooport does not have, or not so; the library itself may build it."""


class Keys:
    """The keys of a section of mmseg's config, and its type, `kind`.

    `where` names it in messages: "decode_head FCNHead".
    """

    def __init__(self, section: Mapping[str, Any], where: str) -> None:
        self.kind, self.where = type_name(section.get("type")), where
        self._left = {key: value for key, value in section.items() if key not in ("type", "_scope_", *TRAINING)}

    def take(self, key: str, default: Any = _REQUIRED, kind: Kind | None = None) -> Any:
        """The value of a key. Raises InputError where it is missing and has no default, or is of another kind."""
        if key not in self._left and default is _REQUIRED:
            raise InputError(f"{self.where}: no {key}; add it")
        if kind is not None and key in self._left:
            read(self._left, key, kind, self.where)
        value = self._left.pop(key, default)
        return tuple(value) if isinstance(value, list) else value

    def section(self, key: str, default: Any = _REQUIRED) -> "Keys":
        """Those of a section within this one."""
        return Keys(self.take(key, default, SECTION), f"{self.where}: {key}")

    def optional_section(self, key: str, default: Mapping[str, Any] | None = None) -> Mapping[str, Any] | None:
        """A section that may be None, as it is."""
        section: Mapping[str, Any] | None = read({key: self.take(key, default)}, key, SECTION, self.where, None)
        return section

    def taken(self, *keys: str) -> dict[str, Any]:
        """Those of the keys that are there, by name."""
        return {key: self.take(key) for key in keys if key in self._left}

    def expect(self, key: str, *values: Any) -> None:
        """One of these values, or nothing. Raises UnknownPartError for another one."""
        value = self.take(key, values[0])
        if value not in values:
            known = " or ".join(map(repr, values))
            raise UnknownPartError(f"{self.where}: {key} is {value!r}, and zooport's own has {known}")

    def batch_norm_eps(self, *, default: Mapping[str, Any] | None = None) -> float:
        """The eps of a batch norm; `default`: the section where there is none.

        In a batch norm's section `requires_grad` and `momentum` are for training, and SyncBN computes as BN does.
        """
        return self._norm_eps("norm_cfg", default, "batch norm", *BATCH_NORMS)

    def expect_batch_norm(self, *, default: Mapping[str, Any] | None = None) -> None:
        """A batch norm of the usual eps."""
        self._expect_eps("norm_cfg", self.batch_norm_eps(default=default), NORM_EPS)

    def layer_norm_eps(self, key: str = "norm_cfg", *, default: Mapping[str, Any]) -> float:
        """The eps of a layer norm; `default`: the section where there is none."""
        return self._norm_eps(key, default, "layer norm", "LN")

    def expect_layer_norm(self, eps: float, kind: str = "LN") -> None:
        """A layer norm of this eps, or nothing."""
        key, default = "norm_cfg", {"type": kind, "eps": eps}
        self._expect_eps(key, self._norm_eps(key, default, "layer norm", kind), eps)

    def expect_activation(self, kind: str) -> None:
        """This activation, or nothing."""
        activation = self.optional_section("act_cfg", {"type": kind}) or {}
        if activation.get("type") != kind or set(activation) - {"type", "inplace"}:
            raise UnknownPartError(f"{self.where}: act_cfg is {activation or None}, and zooport's own is {kind}")

    def close(self) -> None:
        """Raises UnknownPartError for a key that nobody has taken, with its name."""
        if self._left:
            key, value = next(iter(self._left.items()))
            raise UnknownPartError(f'{self.where}: key "{key}" ({value!r}) is not known to zooport\'s own')

    def _norm_eps(self, key: str, default: Mapping[str, Any] | None, name: str, *kinds: str) -> float:
        norm = self.optional_section(key, default) or {}
        if norm.get("type") not in kinds:
            raise UnknownPartError(f"{self.where}: {key} has type {norm.get('type')!r}, and zooport's own is a {name}")
        known = ("type", "requires_grad", "momentum", "eps")
        if unknown := [each for each in norm if each not in known]:
            raise UnknownPartError(f'{self.where}: {key} has an unknown key "{unknown[0]}"')
        return float(read(norm, "eps", NUMBER, f"{self.where}: {key}", NORM_EPS))

    def _expect_eps(self, key: str, eps: float, expected: float) -> None:
        if eps != expected:
            raise UnknownPartError(f"{self.where}: {key} has eps {eps:g}, and zooport's own {expected:g}")


Translate = Callable[[Keys], dict[str, Any]]
"""Of the keys of a section, the arguments of zooport's own class, with its type."""
_PARTS: dict[tuple[str, str], Translate] = {}


def part(place: str, *kinds: str) -> Callable[[Translate], Translate]:
    """A decorator: makes the translation of types known; `place`: "backbone", "neck", "decode_head" or "cascade_head".

    A head of a cascade is any head after the first: it takes the logits of the one before it as well.
    """

    def register(translate: Translate) -> Translate:
        for kind in kinds:
            _PARTS[place, kind] = translate
        return translate

    return register


def translated(place: str, section: Mapping[str, Any]) -> dict[str, Any]:
    """A section as zooport's. Raises UnknownPartError for a part or a key that zooport does not have."""
    import_modules(PARTS)
    kind = type_name(read(section, "type", TEXT, place))
    if (place, kind) not in _PARTS:
        known = [name for where, name in _PARTS if where == place]
        hint = nearest(kind, known) if known else "it has none"
        raise UnknownPartError(f"{place} {kind} is none of zooport's own; {hint}")
    keys = Keys(section, f"{place} {kind}")
    arguments = _PARTS[place, kind](keys)
    keys.close()
    return arguments
