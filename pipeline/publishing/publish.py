"""Atomic publishing of a folder: filled beside its place under a lock, then exchanged with what stands there.

A run that is killed at any moment leaves the old folder or the new one, never a mixture. Where the kernel cannot
exchange two folders, the old one is moved aside first; a kill in between leaves none, and the next run puts the old
one back.
"""

import errno
import itertools
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from pipeline.publishing.exchange import exchange
from pipeline.publishing.interrupts import Interrupts
from pipeline.publishing.lock import locked
from pipeline.publishing.own_files import foreign_files, remove_own
from zoo.errors import InputError, ZooportError
from zoo.files.writing import sync
from zoo.notices import notice
from zoo.opened_folder import MANIFEST_FILE

PROBE_BYTES = 4 * 1024 * 1024  # a disk with less room than that is full, and it is better to know before the export
SHOWN = 4  # names in an error message
PARENT_ATTEMPTS = 5
Kept = Callable[[Path], object]
"""Called with a folder of files that lay in a deployment's folder and are not the deployment's own."""


def warn_of_kept(folder: Path) -> None:
    """Says where they are."""
    notice(f"{folder} holds what was not the deployment's own in the folder that was replaced")


@contextmanager
def publication(place: Path, kept: Kept = warn_of_kept) -> Iterator[Path]:
    """A new, empty, hidden folder beside ``place``; on a normal exit it takes the place, on any other it is gone.

    Where the place cannot be moved, it stays beside it under a visible name, which the error has.

    Leftovers of killed runs are removed first. Parent folders that were made here and are empty after a failure are
    removed, too. Files that zooport did not write are never removed: where there are some in the place already, they
    are refused; those that come later end in a visible folder beside it, for which ``kept`` is called.
    A signal that ends the process is put off while the place changes hands and while leftovers are removed.

    Raises InputError before the body runs where the place cannot be written, is not a deployment, holds files of the
    user's, or is being written by another deploy; raises InputError after it where publishing itself fails. An error of
    ours that the body raises names the deployment's files, and not the folder that is gone by then.
    """
    place = Path(os.path.realpath(place))
    staged = _staged(place)
    parents: list[Path] = []
    with Interrupts() as interrupts:  # held until the lock is there, and again from the exchange on
        try:
            with ExitStack() as held:
                with _as_input_error(place):
                    _lock(place, held, parents)
                try:
                    interrupts.release()
                    with _as_input_error(place):
                        recover(place, kept)
                        _refuse_foreign(place)
                        staged.mkdir()
                        _probe(staged)
                    with _naming_files(staged):
                        yield staged
                    with _as_input_error(place):
                        _sync(staged)
                        interrupts.held = True
                        _take_place(staged, place)
                finally:
                    interrupts.held = True
                    recover(place, kept)
        except BaseException:
            _remove_empty(parents)
            raise


def is_published(place: Path, staged: os.stat_result) -> bool:
    """Whether the folder that ``publication`` gave is what lies at the place now. ``staged``: its stat."""
    try:
        return os.path.samestat(place.stat(), staged)
    except OSError:
        return False


def recover(place: Path, kept: Kept) -> None:
    """Remove what a killed run left beside ``place``, and put an old folder back that it had moved aside.

    What is not the deployment's own is kept, see ``publication``. The lock must be held.
    """
    aside, staged = _aside(place), _staged(place)
    if aside.exists() and not place.exists():
        aside.rename(place)
    shutil.rmtree(staged, ignore_errors=True)  # nothing but a deploy has ever written into it
    try:
        if aside.exists() and not remove_own(aside):
            free = _free_name(place, "kept")
            aside.rename(free)
            kept(free)
    except OSError as error:
        notice(f"could not remove {aside}: {error}")
    for leftover in (aside, staged):
        if leftover.exists():
            notice(f"could not remove {leftover}")


def _free_name(place: Path, ending: str) -> Path:
    """A visible name beside ``place`` that nothing has yet."""
    numbers = itertools.count(2)
    name = place.with_name(f"{place.name}.{ending}")
    while os.path.lexists(name):
        name = place.with_name(f"{place.name}.{ending}-{next(numbers)}")
    return name


def _staged(place: Path) -> Path:
    return place.parent / f".{place.name}.zooport-new"


def _aside(place: Path) -> Path:
    return place.parent / f".{place.name}.zooport-old"


def _lock(place: Path, held: ExitStack, parents: list[Path]) -> None:
    """Make the parents and take the lock; ``parents`` lists the parents that were made here, outermost first."""
    for attempts_left in reversed(range(PARENT_ATTEMPTS)):
        _make_parents(place.parent, parents)
        try:
            held.enter_context(locked(place))
        except FileNotFoundError:  # another run that failed has just removed the parent, which it had made
            if not attempts_left:
                raise
        else:
            return


def _make_parents(parent: Path, new_folders: list[Path]) -> None:
    for folder in (*reversed(parent.parents), parent):
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        except OSError:
            if folder.is_dir():  # a read-only file system answers so for a folder that exists, too
                continue
            raise
        if folder not in new_folders:
            new_folders.append(folder)


def _remove_empty(folders: list[Path]) -> None:
    for folder in reversed(folders):
        try:
            folder.rmdir()
        except OSError:
            return  # somebody else has put something there


def _refuse_foreign(place: Path) -> None:
    """Never replace what is not a deployment, nor what zooport did not write."""
    if not place.exists():
        return
    if not place.is_dir():
        raise InputError(f"{place}: is a file, not a deployment's folder; move it away")
    foreign = foreign_files(place)
    if not (place / MANIFEST_FILE).is_file() and any(place.iterdir()):
        raise InputError(
            f"{place}: holds files but no {MANIFEST_FILE}, so it is not a deployment to replace; move it away"
        )
    if foreign:
        more = f" and {len(foreign) - SHOWN} more" if len(foreign) > SHOWN else ""
        raise InputError(
            f"{place}: holds {', '.join(foreign[:SHOWN])}{more} beside the deployment's own files, and a deploy "
            "replaces the whole folder; move them away, or use another --work-dir"
        )


def _probe(folder: Path) -> None:
    """Write and remove a file, so that a full disk or a spent quota shows now."""
    probe = folder / "probe"
    probe.write_bytes(bytes(PROBE_BYTES))
    probe.unlink()


def _sync(folder: Path) -> None:
    """Bring every file and folder below to the disk."""
    for root, _, names in os.walk(folder):
        for name in names:
            sync(Path(root, name))
        sync(Path(root))


def _take_place(staged: Path, place: Path) -> None:
    if not place.exists():
        staged.rename(place)
    else:
        try:
            _change_places(staged, place)
        except OSError as error:
            raise _kept_beside(staged, place, error) from error
    try:
        sync(place.parent)
    except OSError as error:  # it is published; at worst a power cut brings the old one back
        notice(f"could not bring the new name to the disk: {error}")


def _change_places(staged: Path, place: Path) -> None:
    aside = _aside(place)  # what has this name is whole, the new one now and the old one afterwards
    staged.rename(aside)
    if not exchange(aside, place):
        aside.rename(staged)
        place.rename(aside)
        staged.rename(place)


def _kept_beside(staged: Path, place: Path, error: OSError) -> InputError:
    """The place cannot be moved, as a mount point or a folder of a container's image: hours of work stay beside it."""
    new = staged if staged.exists() else _aside(place)
    free = _free_name(place, "new")
    new.rename(free)
    with suppress(OSError):
        sync(place.parent)
    return InputError(
        f"{place}: cannot be replaced ({error.strerror}); the new deployment is {free}: move the old one away and "
        "rename it, or deploy with another --work-dir"
    )


@contextmanager
def _naming_files(staged: Path) -> Iterator[None]:
    """An error of ours names the deployment's files by their names: when it is read, the hidden folder is gone."""
    try:
        yield
    except ZooportError as error:
        hidden = re.compile(re.escape(str(staged)) + r"(?:/([\w./-]*\w))?")
        error.args = tuple(hidden.sub(_named, said) if isinstance(said, str) else said for said in error.args)
        raise


def _named(match: re.Match[str]) -> str:
    return f"{match[1]} of the deployment" if match[1] else "the deployment"


@contextmanager
def _as_input_error(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename or place
        cure = "free room there" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "make it writable"
        raise InputError(
            f"{place}: cannot write the deployment ({where}: {error.strerror}); {cure}, or give another --work-dir"
        ) from error
