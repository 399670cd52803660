"""`CONFIG.py`, a config of one of OpenMMLab's codebases. It is Python that runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from zoo.errors import InputError
from zoo.own_model.classes import FLAG, UNNAMED, class_entries
from zoo.own_model.form import Description, Form, register_form
from zoo.own_model.request import ModelRequest
from zoo.own_model.resizing import resized

if TYPE_CHECKING:
    from zoo.codebases import Codebase, CodebaseConfig, Translation

SUFFIX = ".py"
LOOKS_LIKE_ONE = ("model", "_base_", "default_scope", "read_base")
NAMES = "The names are those of {source}."


@register_form
class OpenMMLabForm(Form):
    """The codebase that the config is of translates it."""

    example: ClassVar[str] = "CONFIG.py"
    flags: ClassVar[frozenset[str]] = frozenset({"weights", "classes", "size"})

    def accepts(self, source: str) -> bool:
        """Whether it is a Python file that assigns what such a config does, and says that it is one when it runs."""
        return read_codebase_config(source) is not None

    def out(self, request: ModelRequest) -> Path:
        """In the current folder, by the config's name."""
        return Path(f"{Path(request.source).stem}_zooport{SUFFIX}")

    def sources(self, request: ModelRequest) -> tuple[Path | None, ...]:
        """The config and those that it starts from as well."""
        from zoo.config.bases import with_bases

        return *super().sources(request), *with_bases(Path(request.source))

    def describe(self, request: ModelRequest, out: Path) -> Description:  # noqa: ARG002 - it names no other file
        """What the codebase makes of the config, and the checkpoint says of the classes."""
        read = read_codebase_config(request.source)
        if read is None:
            raise InputError(f"{request.source}: no config of OpenMMLab")
        from zoo.codebases.preprocessing import preprocess_of

        codebase, config = read
        weights = request.weights_file
        preprocess, note = resized(preprocess_of(config), request.size)
        translation = codebase.translate(config, preprocess)
        names, source = _names(request, codebase, config, weights, translation.num_classes)
        classes = _classes(names, source or FLAG, translation, str(config.path))
        notes = {"task": UNNAMED if source is None else NAMES.format(source=source), **translation.notes}
        if note is not None:
            notes["preprocess"] = note
        task = {**translation.content["task"], "classes": classes}
        content = {**translation.content, "task": task}
        what = f"{translation.what}, from {config.path.name} of {codebase.scope}."
        return Description(what, content, weights, notes)


def read_codebase_config(source: str | Path) -> "tuple[Codebase, CodebaseConfig] | None":
    """The config of a file and its codebase; None for anything else. Only a file that looks like a config runs.

    Raises InputError for a config that cannot be read, or is of a codebase that zooport does not take.
    """
    path = Path(source)
    if path.suffix != SUFFIX or not path.is_file():
        return None
    from zoo.config.bases import assigned

    text = path.read_text(encoding="utf-8", errors="replace")
    if not set(LOOKS_LIKE_ONE) & {*assigned(path), *(("read_base",) if "read_base" in text else ())}:
        return None
    from zoo.codebases import CodebaseConfig, codebase_of
    from zoo.config import read_config

    content = read_config(path).to_dict()
    codebase = codebase_of(content, str(path))
    return None if codebase is None else (codebase, CodebaseConfig(path, content))


def _names(
    request: ModelRequest, codebase: "Codebase", config: "CodebaseConfig", weights: Path, count: int
) -> tuple[Sequence[str], str | None]:
    """The names of the classes, and what names them: the user, the checkpoint, the config, or its data set's type.

    A type of data set that names another number than `count` is of a user's own classes in that format.
    """
    from zoo.codebases.checkpoint_names import checkpoint_names

    if request.classes:
        return request.classes, FLAG
    if names := checkpoint_names(weights):
        return names, f"the checkpoint {weights.name}"
    if names := config.class_names:
        return names, f"{config.path.name}, metainfo"
    kind = str(config.dataset.get("type", ""))
    if len(names := codebase.metainfo_names(kind)) == count:
        return names, f"{codebase.scope}'s {kind}"
    return (), None


def _classes(names: Sequence[str], source: str, translation: "Translation", what: str) -> list[dict[str, Any]]:
    entries: list[Mapping[str, Any]] = list(class_entries(names, translation.num_classes, what, source=source))
    pairs = zip(entries, translation.category_ids, strict=True)
    return [{**entry, "category_id": category_id} for entry, category_id in pairs]
