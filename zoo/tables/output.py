"""The folder that predictions are written to: files for each input, drawings, tables; and going on after a stop."""

import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.files.writing import NAME_BYTES, write_whole
from zoo.sources import Item, Source
from zoo.sources.naming import as_one_file
from zoo.tables.drawn_video import SUFFIX, DrawnVideo
from zoo.tables.journal import Journal
from zoo.tables.table import Row, Table
from zoo.tasks import Result, Task
from zoo.tasks.saving import png

DRAWN = "_drawn"
DRAWN_IMAGE = f"{DRAWN}.png"


class Predicted(Protocol):
    """An input, and what was found in it."""

    @property
    def item(self) -> Item:
        """The input."""

    @property
    def fault(self) -> str | None:
        """Why nothing was found; None where something could be."""


class Output:
    """A context manager: `add` each prediction, then `finish`. What was begun and is not whole is removed.

    `files`: whether each input gets files of its own, as the task writes them. `settings`: what a run that goes on must
    have in common with the one before. `count`: of the files that were written. `last`: the path of the last one, as
    text. `written`: those of all; for the frames of a camera, which has no end, only where it `lists_frames`, else the
    path of their folder.
    """

    def __init__(
        self,
        folder: Path,
        task: Task,
        tables: Sequence[Table],
        settings: Mapping[str, Any],
        *,
        files: bool = True,
        draw: bool = False,
        resume: bool = False,
        lists_frames: bool = False,
    ) -> None:
        self.folder, self.task, self.tables, self.files, self.draw = folder, task, tables, files, draw
        self.lists_frames = lists_frames
        self.count, self.last = 0, ""
        self.written: list[str] = []
        self._journal = Journal(folder, settings, resume=resume)
        self._video: DrawnVideo | None = None
        self._current: Source | None = None
        self._faulty = False

    def skip(self, source: Source) -> Collection[int] | None:
        """What an earlier run has done of a source: all (None), or these frames. A video is drawn as a whole."""
        if source.live:  # streams that differ in their query alone have one label
            return ()
        done = self._journal.done(source.label)
        if source.recording is None:
            return None if None in done else ()
        if source.label in self._journal.ended:
            return None
        return () if self.draw else {frame for frame in done if frame is not None}

    def add(self, prediction: Predicted, result: Result | None) -> None:
        """`result`: what is kept of the prediction; None where that has a fault. Raises OSError."""
        item = prediction.item
        if self._current is not item.source:
            self._end(cut=False)
            self._current = item.source
        self._faulty |= prediction.fault is not None
        entries: dict[str, Any] = {}
        height, width = (None, None) if item.value is None else self.task.kind.size(item.value) or (None, None)
        if result is not None:
            self._write_files(item, result)
            entries = {table.name: table.entry(result) for table in self.tables}
        self._journal.add(Row(item.source.label, item.frame, height, width, prediction.fault, entries))

    def finish(self, *, failed: bool, cut: bool = False) -> None:
        """Write the tables. Where inputs `failed` the journal stays, so that another run can try them again.

        `cut`: the last recording may not have ended.
        """
        self._end(cut=cut)
        for table in self.tables:
            table.write(self.folder, self._journal.rows)
            for name in table.files:
                self._note(self.folder / name)
        if not failed:
            self._journal.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._video is not None:
            self._video.discard()
        self._journal.__exit__(*error)

    def _end(self, *, cut: bool) -> None:
        """Whatever belongs to the last source is whole, as far as that goes."""
        if self._current is not None and self._current.recording is not None:
            if self._video is not None:
                self._video.finish()
                self._note(self._video.path)
                self._video = None
            if not (self._faulty or cut or self._current.live):
                self._journal.end(self._current.label)
        self._current, self._faulty = None, False

    def _write_files(self, item: Item, result: Result) -> None:
        """Those of one input."""
        contents = dict(self.task.files(item.value, result)) if self.files else {}
        if self.draw:
            drawn = self.task.draw(item.value, result)
            if item.source.recording is None:
                contents[DRAWN_IMAGE] = png(drawn)
            else:
                self._draw_frame(item.source, drawn)
        for suffix, content in contents.items():
            path = self.folder / f"{item.name}{suffix}"
            write_whole(path, content, make_folders=True)
            self._note(path, path.parent if item.source.live and not self.lists_frames else path)

    def _note(self, path: Path, listed: Path | None = None) -> None:
        """A file that was written, and the path that stands for it in the list."""
        self.count, self.last = self.count + 1, str(path)
        if self.written[-1:] != [name := str(listed or path)]:
            self.written.append(name)

    def _draw_frame(self, source: Source, drawn: NDArray[Any]) -> None:
        assert source.recording is not None
        if self._video is None:
            path = self.folder / f"{source.name}{DRAWN}{SUFFIX}"
            path.parent.mkdir(parents=True, exist_ok=True)
            self._video = DrawnVideo(path, source.recording.rate)
        self._video.add(np.ascontiguousarray(drawn))


def check_folder(folder: Path, sources: Sequence[Source], suffixes: Sequence[str], tables: Sequence[str]) -> None:
    """Raises InputError where a file of the output would overwrite an input, or another file of the output.

    `suffixes`: of what each input may get; `tables`: names of files.
    """
    inputs = {Path(source.label).resolve() for source in sources if not source.live}
    of_frames = tuple(suffix for suffix in suffixes if suffix != DRAWN_IMAGE)
    recordings = [source for source in sources if source.recording is not None]
    names = [f"{source.name}{suffix}" for source in sources if source.recording is None for suffix in suffixes]
    names += [f"{source.name}{DRAWN}{SUFFIX}" for source in recordings if DRAWN_IMAGE in suffixes]
    for name in (*names, *tables):
        if (folder / name).resolve() in inputs:
            raise InputError(f"--out {folder}: {name} would overwrite an input; give another folder")
    folders = {name for source in sources for name in _folders_of(source.name)}
    by_folder = defaultdict(list)
    for path in inputs:
        by_folder[path.parent].append(path)
    for one in recordings if of_frames else ():
        if one.name in folders:
            raise InputError(f"--out {folder}: the frames of {one.label} and the folder {one.name} share a name")
        frames = (folder / one.name).resolve()
        if lost := [path for path in by_folder[frames] if _is_frame(path.name, of_frames)]:
            raise InputError(
                f"--out {folder}: the frames of {one.label} could overwrite {lost[0]}; give another folder"
            )
    if shared := sorted(set(names) & set(tables)):
        raise InputError(f"--out {folder}: {shared[0]} is both a table and the result of an image; rename the image")
    if long := [name for name in names if len(os.fsencode(Path(name).name)) > NAME_BYTES]:
        raise InputError(f"--out {folder}: {long[0]} has more than {NAME_BYTES} bytes; give its image a shorter name")
    counts = Counter(map(as_one_file, names))
    if shared := [name for name in names if counts[as_one_file(name)] > 1]:
        raise InputError(f"--out {folder}: two results would be called {shared[0]}; rename one of the images")


def _folders_of(name: str) -> Iterator[str]:
    """Those that a name is in: of "a/b/c" they are "a" and "a/b"."""
    return accumulate(name.split("/")[:-1], "{}/{}".format)


def _is_frame(name: str, suffixes: Sequence[str]) -> bool:
    """Whether a frame's file may have this name."""
    return any(name.endswith(suffix) and name.removesuffix(suffix).isdecimal() for suffix in suffixes)
