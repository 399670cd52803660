"""Writing a config for a model of one's own: whole, and only if the model is built and its weights load."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zoo.errors import InputError
from zoo.files.relative import relative_to_file
from zoo.files.writing import made_folders, write_whole
from zoo.own_model.folder import foreign_arguments
from zoo.own_model.form import Description, Form, find_form
from zoo.own_model.replacing import check_out
from zoo.own_model.request import ModelRequest
from zoo.own_model.suiting import suited

FLAGS = {"weights": "--weights", "classes": "--classes", "task": "--task", "size": "--size", "arguments": "--arg"}
BATCH = (1, 2, 4)
"""The least, the usual and the largest, where a form has no other."""


@dataclass(frozen=True)
class WrittenConfig:
    """What was written: `classes` by name; `notes`: lines on what the user should know of it."""

    path: Path
    task: str
    classes: tuple[str, ...]
    notes: tuple[str, ...]


def write_config(request: ModelRequest, finish: Callable[[str], str] = str) -> WrittenConfig:
    """Write the config of a model; the file is there whole or not at all. `finish` may add to its text.

    Raises InputError: a source of no known form, a flag that its form does not take, a file that is there already, what
    cannot be mapped, a model that cannot be built or downloads something, or weights that are not its own.
    """
    form = find_form(request.source)
    _check_flags(form, request)
    out = request.out or form.out(request)
    check_out(out, form.sources(request), force=request.force)
    with ExitStack() as folders:
        with _writing_errors():
            folders.enter_context(made_folders(out.parent))  # paths in the config start there
        return _write(form, request, out, finish)


def _write(form: Form, request: ModelRequest, out: Path, finish: Callable[[str], str]) -> WrittenConfig:
    description = form.describe(request, out)
    content, notes = _ordered(description, out), dict(description.notes)
    written = _read(description, content, out)
    model = _built(form, written)
    if changed := suited(written, content, model):
        content |= changed.content
        for key, note in changed.notes.items():
            notes[key] = f"{notes[key]} {note}" if key in notes else note
        description = replace(description, notes=notes)
        written = _read(description, content, out)
    text = finish(config_source_of(description, content))
    with _writing_errors():
        write_whole(out, text)
    names = tuple(info.name for info in written.task.classes)
    return WrittenConfig(out, written.task.name, names, tuple(notes.values()))


@contextmanager
def _writing_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be written ({error.strerror}); give another --out") from error


def config_source_of(description: Description, content: dict[str, Any]) -> str:
    """The text of the config."""
    from zoo.config.source import config_source

    return config_source(description.what, (), content, description.notes)


def _check_flags(form: Form, request: ModelRequest) -> None:
    for name, flag in FLAGS.items():
        if getattr(request, name) and name not in form.flags:
            raise InputError(f"{flag} with {request.source}: {form.example} does not take it; leave it out")
    foreign_arguments(request.arguments, "--arg")
    if request.weights is not None and not request.weights.is_file():
        raise InputError(f"--weights {request.weights}: no such file; give the state dict of the trained model")


def _ordered(description: Description, out: Path) -> dict[str, Any]:
    """The content with the path of the checkpoint, in the order in which a person reads it."""
    checkpoint = relative_to_file(description.checkpoint, out)
    content = {"export": {"inputs": {"batch": BATCH}}, **description.content, "checkpoint": checkpoint}
    order = ("custom_imports", "model", "task", "preprocess", "checkpoint", "export")
    return {key: content[key] for key in (*order, *content) if key in content}


def _read(description: Description, content: dict[str, Any], out: Path) -> Any:
    """The config as it will be read."""
    from mmengine.config import Config

    from zoo.config import load_config

    text = config_source_of(description, content)
    return load_config(Config(content, cfg_text=text, filename=str(out)))


def _built(form: Form, config: Any) -> Any:
    """Its model with its weights."""
    from zoo.build import build_model

    model = build_model(config)
    if form.is_own_code:
        _check_run(model, config)
    return model


def _check_run(model: Any, config: Any) -> None:
    """One run, for what it downloads. If it fails for another reason, a deploy says more, on images."""
    import torch

    from zoo.config import config_target
    from zoo.downloads import RUNS, DownloadRefusedError, refused_downloads

    sides = config_target(config).preferred
    try:
        with refused_downloads(f"model {config.model['type']}", RUNS), torch.inference_mode():
            model(torch.zeros(1, 3, sides["height"], sides["width"]))
    except DownloadRefusedError:
        raise
    except (Exception, SystemExit):  # noqa: BLE001, S110  # the user's code may raise anything
        pass
