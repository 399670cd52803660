"""The forms in which the source of a model may be given: each is a module of zoo.own_model.forms that registers it."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from zoo.errors import InputError, nearest
from zoo.own_model.folder import CONFIG, folder_config, folder_out
from zoo.own_model.request import ModelRequest
from zoo.subpackages import import_modules

ANY_MODULE = "Tensors"
"""The task of a module of which nothing else is known."""
HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*")
FORMS = "zoo.own_model.forms"
"""Every module of it registers a form."""


@dataclass(frozen=True)
class Description:
    """`what`: the first line of the config. `content`: its keys, without the checkpoint. `checkpoint`: its file.

    Without a key export the batch may vary. `notes`: what the reader of the config must know, by the key to which it
    belongs.
    """

    what: str
    content: Mapping[str, Any]
    checkpoint: Path
    notes: Mapping[str, str] = field(default_factory=dict)


class Form(ABC):
    """One form of a source: how it differs from the others, and what a config holds for it."""

    example: ClassVar[str]
    """For messages: "torchvision:NAME"."""
    folder_key: ClassVar[str | None] = None
    """The key of config.json by which a folder has this form; None where no folder has it."""
    flags: ClassVar[frozenset[str]] = frozenset()
    """The fields of a request, besides those of every form, that it takes: classes, task, size, arguments, weights."""

    is_own_code: ClassVar[bool] = False
    """Whether the model is the user's own code, whose forward may do anything."""

    @abstractmethod
    def accepts(self, source: str) -> bool:
        """Whether a source has this form; not whether it exists."""

    @abstractmethod
    def describe(self, request: ModelRequest, out: Path) -> Description:
        """What the config holds; `out` is its path. Raises InputError for what cannot be mapped, naming it."""

    def out(self, request: ModelRequest) -> Path:
        """Where the config goes if the request does not say."""
        return Path(f"{request.weights_file.stem}.py")

    def sources(self, request: ModelRequest) -> tuple[Path | None, ...]:
        """The files of the request that a config must not replace."""
        return (request.weights,)


class LibraryForm(Form):
    """`PREFIX:NAME`, a model of a library; of some also the folder that its save_pretrained wrote."""

    prefix: ClassVar[str]

    def accepts(self, source: str) -> bool:
        """Whether it begins with the prefix, or is a folder of the library."""
        return source.startswith(f"{self.prefix}:") or self.folder_key in (folder_config(source) or ())

    def out(self, request: ModelRequest) -> Path:
        """Named after the folder, or the weights."""
        return super().out(request) if folder_config(request.source) is None else folder_out(request.source)

    def name(self, source: str) -> str:
        """What comes after the prefix."""
        return source.removeprefix(f"{self.prefix}:")


_FORMS: list[Form] = []


def register_form(form: type[Form]) -> type[Form]:
    """A decorator: makes a form known."""
    _FORMS.append(form())
    return form


def known_forms() -> tuple[Form, ...]:
    """All forms."""
    import_modules(FORMS)
    return tuple(_FORMS)


def find_form(source: str) -> Form:
    """The form of a source. Raises InputError that lists the forms, or has the nearest prefix."""
    for form in known_forms():
        if form.accepts(source):
            return form
    prefix, colon, _ = source.partition(":")
    prefixes = [form.prefix for form in known_forms() if isinstance(form, LibraryForm)]
    if colon and "/" not in prefix and not prefix.endswith(".py"):
        raise InputError(f'source {source}: unknown library "{prefix}"; {nearest(prefix, prefixes)}')
    if Path(source).is_dir():
        keys = ", ".join(f'"{form.folder_key}"' for form in known_forms() if form.folder_key is not None)
        fault = f"{CONFIG} has none of the keys {keys}" if folder_config(source) else f"no {CONFIG} in it"
        snapshot = next(Path(source).glob(f"snapshots/*/{CONFIG}"), None)
        give = "the folder that model.save_pretrained(folder) wrote" if snapshot is None else str(snapshot.parent)
        raise InputError(f"source {source}: {fault}; give {give}")
    what = f"{source} is not a model" if Path(source).exists() else f"{source}: no such file or folder"
    examples = ", ".join(form.example for form in known_forms())
    raise InputError(f"source {what}; give one of {examples}{_from_the_hub(source)}")


def _from_the_hub(source: str) -> str:
    """What to do with a name such as those of the Hugging Face Hub, OWNER/NAME, else nothing."""
    is_file_name = Path(source).suffix[1:].isalpha()
    if is_file_name or not HUB_NAME.fullmatch(source) or Path(source).parent.exists():
        return ""
    name = source.partition("/")[2]
    return f"; a model of the Hugging Face Hub becomes a FOLDER with: hf download {source} --local-dir {name}"
