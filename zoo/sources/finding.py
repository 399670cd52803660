"""From what people name to files and recordings."""

import glob
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from zoo.addresses import unreadable
from zoo.errors import InputError
from zoo.input_kinds import InputKind
from zoo.input_kinds.recording import Recording
from zoo.sources.naming import output_names
from zoo.sources.source import Source, SourceNames

LIST = "-"


@dataclass(frozen=True)
class _Match:
    """A file and the path that it should have among the outputs, or a recording that is no file."""

    label: str
    short: PurePath
    recording: Recording | None = None


def find_sources(names: SourceNames, kind: InputKind, *, recursive: bool = False) -> list[Source]:
    """All files and recordings, in the order of `names`, those of a folder and of a glob by name; each file once.

    `names`: a file, a folder (`recursive`: with the folders in it), a glob, what the kind calls a recording (a video, a
    camera's number, a URL), or "-" for a list of such on standard input, a line for each, or separated by NUL
    characters. A file of such a list that is not there is a source with a fault. Raises InputError for a file that is
    not there, a glob without a match, a folder without inputs, and where nothing is left.
    """
    several = [names] if isinstance(names, str | os.PathLike | int) else list(names)
    matches: dict[object, _Match] = {}
    for each in several:
        text = str(each) if isinstance(each, int) else os.fspath(each)
        for one in _listed(kind, recursive=recursive) if text == LIST else _of(text, kind, recursive=recursive):
            is_file = one.recording is None or not one.recording.live
            live = text if "://" in text else one.label  # the label of an address has no query
            matches.setdefault(os.path.realpath(one.label) if is_file else live, one)
    if not matches:
        raise InputError(f"no {kind.noun}s to read; name a file, a folder or a glob")
    return _named(list(matches.values()))


def _named(matches: Sequence[_Match]) -> list[Source]:
    places = [Path(os.path.abspath(_place(one))) for one in matches]  # noqa: PTH100 - keeps links
    outputs = output_names(list(zip(places, (one.short for one in matches), strict=True)))
    return [Source(one.label, name, one.recording) for one, name in zip(matches, outputs, strict=True)]


def _place(one: _Match) -> str:
    """What is live has no file, and its own name."""
    return one.recording.name if one.recording is not None and one.recording.live else one.label


def _listed(kind: InputKind, *, recursive: bool) -> Iterator[_Match]:
    """What a list on standard input names."""
    content = os.fsdecode(sys.stdin.buffer.read())
    for line in content.split("\0" if "\0" in content else "\n"):
        text = line.rstrip("\r")
        if not text.strip():
            continue
        try:
            yield from _of(text, kind, recursive=recursive)
        except (InputError, OSError):  # of a long list, one that is not there must not stop the rest
            yield _Match(unreadable(text), PurePath(PurePath(text).name))


def _of(text: str, kind: InputKind, *, recursive: bool) -> Iterator[_Match]:
    """What one text names."""
    path = Path(text)
    if not text or "\0" in text:
        raise InputError(f"{text!r}: not the name of a file; give a path")
    if (recording := kind.live(text)) is not None:
        yield _Match(recording.label, PurePath(recording.name), recording)
    elif path.is_dir():
        yield from _in_folder(path, kind, recursive=recursive)
    elif path.exists():
        yield _file(path, kind)
    elif glob.has_magic(text):
        matches = [Path(match) for match in sorted(glob.glob(text, recursive=True))]  # noqa: PTH207 - of any root
        files = [match for match in matches if match.is_file()]
        if not files:
            raise InputError(f"{unreadable(text)}: no file matches; check the folder and the pattern, and quote it")
        yield from (_file(match, kind) for match in files)
    else:
        raise InputError(f"{unreadable(text)}: no such file")


def _in_folder(folder: Path, kind: InputKind, *, recursive: bool) -> Iterator[_Match]:
    """The files of the kind's suffixes, by name; hidden ones are passed over."""
    files: list[Path] = []
    suffixes = (*kind.suffixes, *kind.recording_suffixes)
    try:
        for parent, folders, names in os.walk(folder, onerror=_raise):
            if not recursive:
                folders.clear()
            folders[:] = [name for name in folders if not name.startswith(".")]
            files += [
                Path(parent, name)
                for name in names
                if Path(name).suffix.lower() in suffixes and not name.startswith(".")
            ]
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be read ({error.strerror}); make it readable") from error
    if not files:
        more = "" if recursive else "; --recursive (recursive=True) also searches the folders in it"
        raise InputError(f"{folder}: no {kind.noun}s in this folder, expected files {', '.join(suffixes)}{more}")
    yield from (_file(file, kind, folder) for file in sorted(files))


def _raise(error: OSError) -> None:
    raise error


def _file(path: Path, kind: InputKind, folder: Path | None = None) -> _Match:
    """A file, in a folder that was named."""
    short = PurePath(path.name) if folder is None else path.relative_to(folder)
    return _Match(str(path), short, kind.recording(path))
