"""Reading what torch.save wrote, without running code that the file names. Needs torch."""

import pickle
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import torch

from zoo.errors import InputError


class Inert:
    """Stands for an object of a file that nothing here needs: takes whatever it is made of, and keeps nothing."""

    def __init__(self, *_arguments: object) -> None: ...

    def __setstate__(self, _state: object) -> None: ...


ARCHIVE = b"PK\x03\x04"  # how what torch.load takes for one begins
OF_TORCHSCRIPT = "/constants.pkl"  # a member that torch.save does not write
# What trainings pickle besides tensors and plain containers: their flags, and mmengine's Runner the history of its log.
# A stand-in is let in for them, not the types: getattr would open a door, and numpy trusts the bytes that it restores
# an array from.
INERT_TYPES = (
    "argparse.Namespace",  # the flags of timm's and torchvision's scripts
    "mmengine.logging.history_buffer.HistoryBuffer",
    "builtins.getattr",  # how the buffer's methods are pickled
    "numpy.dtype",
    "numpy.ndarray",
    "numpy._core.multiarray._reconstruct",
    "numpy._core.multiarray.scalar",
    "numpy.core.multiarray._reconstruct",  # numpy 1
    "numpy.core.multiarray.scalar",
)


def read_torch_file(path: Path) -> Any:
    """The content of a checkpoint, its tensors on the CPU; the history of mmengine's Runner is left out.

    Raises InputError: no such file, a file that is cut off, one that unpacks to more than its size, or objects that
    could run code.
    """
    if not path.is_file():
        raise InputError(f"checkpoint {path}: no such file")
    _check_archive(path)
    try:
        with torch.serialization.safe_globals([(Inert, name) for name in INERT_TYPES]):
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        if "Unsupported operand" in str(error) and not _is_pickle(path):
            raise InputError(f"checkpoint {path} cannot be read: torch.save did not write it") from error
        raise InputError(
            f"checkpoint {path} holds pickled Python objects besides tensors, which could run code when loaded, "
            "so it was not loaded; save only model.state_dict(), best as safetensors"
        ) from error
    except Exception as error:  # whatever the bytes of a broken file make torch's reader stumble over
        raise unreadable(path, error) from error


def _check_archive(path: Path) -> None:
    """Raises InputError where the archive of torch.save is compressed, or declares more bytes than the file has.

    torch.save does neither; torch.load would unpack it, so that a small file could fill the memory. Raises InputError
    for an archive of torch.jit.save, too.
    """
    with path.open("rb") as file:
        if file.read(len(ARCHIVE)) != ARCHIVE:
            return
    try:
        with ZipFile(path) as archive:
            members = archive.infolist()
    except Exception as error:  # as below
        raise unreadable(path, error) from error
    if any(member.filename.endswith(OF_TORCHSCRIPT) for member in members):
        raise InputError(
            f"checkpoint {path} is a TorchScript archive, a model with its code; save the model.state_dict() of the "
            "PyTorch model"
        )
    declared, size = sum(member.file_size for member in members), path.stat().st_size
    if declared > size or any(member.compress_type != ZIP_STORED for member in members):
        raise InputError(
            f"checkpoint {path} was not loaded: its archive is compressed, or declares more than it holds ({declared} "
            f"bytes in a file of {size}); save it with torch.save"
        )


def _is_pickle(path: Path) -> bool:
    """Whether the file begins as pickles of protocol 2 and later do; those of torch.save lie in an archive."""
    with path.open("rb") as file:
        return file.read(1) == pickle.PROTO


def unreadable(path: Path, error: Exception) -> InputError:
    """The error to raise for a checkpoint that a library cannot read."""
    reason = next(iter(str(error).splitlines()), type(error).__name__)
    return InputError(f"checkpoint {path} cannot be read (truncated or not a checkpoint?): {reason}")
