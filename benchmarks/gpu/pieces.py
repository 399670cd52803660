"""Files in pieces: split for a carrier that takes only so much at a time, joined and checked where they arrive."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from zoo.errors import InputError
from zoo.files.writing import staged, write_whole

INDEX = "pieces.json"
BLOCK = 2**20  # bytes that are held at once


@dataclass(frozen=True)
class Part:
    """A file, or a piece: its name, its bytes and their SHA-256."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Index:
    """`files`: in the order in which they follow one another in the `pieces`."""

    files: tuple[Part, ...]
    pieces: tuple[Part, ...]

    @classmethod
    def read(cls, folder: Path) -> "Index":
        """That of a folder of pieces. Raises InputError where there is none."""
        path = folder / INDEX
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            return cls(*(tuple(Part(**part) for part in content[kind]) for kind in ("files", "pieces")))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: no index of pieces ({error}); make them again: make gpu-wheels") from error

    def write(self, folder: Path) -> None:
        """Write it, beside the pieces."""
        write_whole(folder / INDEX, json.dumps(asdict(self), indent=1) + "\n")


def split(files: Sequence[Path], folder: Path, most: int) -> Index:
    """Write the files' bytes, one file after another, as pieces of `most` bytes at most, and their index.

    Pieces and an index that lie in the folder already are removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in (folder / INDEX, *folder.glob("piece-*")):
        old.unlink(missing_ok=True)
    blocks, pieces = _blocks(files), list[Part]()
    rest = next(blocks, b"")
    while rest:
        name, digest, size = f"piece-{len(pieces) + 1:02d}", hashlib.sha256(), 0
        with (folder / name).open("wb") as piece:
            while rest and size < most:
                taken, rest = rest[: most - size], rest[most - size :]
                piece.write(taken)
                digest.update(taken)
                size += len(taken)
                rest = rest or next(blocks, b"")
        pieces.append(Part(name, size, digest.hexdigest()))
    index = Index(tuple(described(file) for file in files), tuple(pieces))
    index.write(folder)
    return index


def missing(index: Index, folder: Path) -> list[str]:
    """The names of the pieces that are not in the folder yet."""
    return [piece.name for piece in index.pieces if not (folder / piece.name).is_file()]


def join(index: Index, folder: Path, into: Path) -> list[Path]:
    """Write the files, each whole or not at all. Raises InputError for a piece, or a file, that is not what it was."""
    for piece in index.pieces:
        path = folder / piece.name
        if not path.is_file():
            raise InputError(f"{path}: the piece is missing; carry it there as well")
        _check(path, piece, "carry it there again")
    into.mkdir(parents=True, exist_ok=True)
    stream = _blocks([folder / piece.name for piece in index.pieces])
    rest, joined = b"", list[Path]()
    for part in index.files:
        with staged(into / part.name) as place:
            with place.open("wb") as file:
                rest = _fill(file, part.bytes, rest, stream)
            _check(place, part, "make the pieces again: make gpu-wheels")
        joined.append(into / part.name)
    return joined


def described(path: Path) -> Part:
    """The file as it is."""
    with path.open("rb") as file:
        return Part(path.name, path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def _fill(file: BinaryIO, size: int, rest: bytes, stream: Iterator[bytes]) -> bytes:
    """Write so many bytes of the stream, whose next ones are `rest`; what is left of the last block."""
    left = size
    while left:
        rest = rest or next(stream, b"")
        if not rest:
            break
        file.write(rest[:left])
        left, rest = left - len(rest[:left]), rest[left:]
    return rest


def _check(path: Path, part: Part, cure: str) -> None:
    actual = described(path)
    if (actual.bytes, actual.sha256) != (part.bytes, part.sha256):
        raise InputError(
            f"{part.name}: got {actual.bytes} bytes of sha256 {actual.sha256}, expected {part.bytes} of {part.sha256}; "
            f"{cure}"
        )


def _blocks(files: Sequence[Path]) -> Iterator[bytes]:
    """The bytes of all files, in turn."""
    for path in files:
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                yield block
