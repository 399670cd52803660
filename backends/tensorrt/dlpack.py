"""DLPack's capsules: tensors handed from one library to another, where they lie.

Source: DLPack's dlpack.h, version 0.8, whose capsules every library still takes, and the Python specification of
DLPack (data-apis.org).
"""

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError

FRESH, USED = b"dltensor", b"used_dltensor"
CODES = {"i": 0, "u": 1, "f": 2, "b": 6}  # numpy's kind -> DLPack's code; 4 is bfloat16, which numpy does not have
KINDS = {code: kind for kind, code in CODES.items()}
BITS_PER_BYTE = 8


class _Device(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int32), ("number", ctypes.c_int32))


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("kind", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_DESTRUCTOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER))


# prototypes of our own: ctypes.pythonapi's are shared by the whole process
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _DESTRUCTOR)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", ctypes.pythonapi))
_raw_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_raw_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)

_handed_out: dict[int, tuple[Any, ...]] = {}  # address of the struct -> all that must live as long as it


class Memory(NamedTuple):
    """A tensor that lies somewhere, C-contiguous. `owner` keeps it there."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    owner: object

    @property
    def size(self) -> int:
        """Its bytes."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


def capsule(memory: Memory, device: tuple[int, int]) -> object:
    """A capsule of the tensor on `device` (DLPack's kind and number), for one consumer. It keeps the owner alive."""
    shape = (ctypes.c_int64 * len(memory.shape))(*memory.shape)
    numpys = np.dtype(memory.dtype)
    kind = _Type(CODES[numpys.kind], numpys.itemsize * BITS_PER_BYTE, 1)
    tensor = _Tensor(memory.address, _Device(*device), len(shape), kind, shape, None, 0)
    managed = _Managed(tensor, None, _release)
    address = ctypes.addressof(managed)
    _handed_out[address] = (managed, shape, memory.owner)
    return _new(address, FRESH, _drop)


def read(capsule: object, name: str) -> Memory:
    """The tensor in a capsule, which is then used up. `name` is for messages.

    Raises InputError for a dtype that numpy has not, and for a tensor that is not C-contiguous.
    """
    address = _pointer(capsule, FRESH)
    managed = _Managed.from_address(address)
    lent: Any = managed.tensor
    shape = tuple(lent.shape[: lent.ndim])
    code, bits, lanes = lent.kind.code, lent.kind.bits, lent.kind.lanes
    if code not in KINDS or lanes != 1:
        raise InputError(
            f'input "{name}": got a tensor of DLPack\'s type {code}, {bits} bits, which numpy does not have'
        )
    if lent.strides and not is_contiguous(shape, tuple(lent.strides[: lent.ndim])):
        raise InputError(f'input "{name}": the tensor is not C-contiguous; give a contiguous one (.contiguous())')
    owner = _Borrowed(address, managed)
    _rename(capsule, USED)
    dtype = np.dtype(f"{KINDS[code]}{bits // BITS_PER_BYTE}")
    return Memory((lent.data or 0) + lent.byte_offset, shape, dtype, owner)


def of_array(array: NDArray[Any]) -> Memory:
    """A numpy array, where it lies."""
    return Memory(array.ctypes.data, array.shape, array.dtype, array)


def is_contiguous(shape: Sequence[int], strides: Sequence[float]) -> bool:
    """Whether elements (not bytes) that are `strides` apart lie in C order; axes of one element may say anything."""
    if 0 in shape:
        return True
    expected = 1
    for side, stride in zip(reversed(shape), reversed(strides), strict=True):
        if side != 1 and stride != expected:
            return False
        expected *= side
    return True


class _Borrowed:
    """What another library lent: given back to it at the end."""

    def __init__(self, address: int, managed: _Managed) -> None:
        self._address = address
        self._deleter: Any = managed.deleter

    def __del__(self) -> None:
        if self._deleter:
            self._deleter(self._address)


def _forget(address: int) -> None:
    """The consumer is done."""
    _handed_out.pop(address, None)


def _forget_unused(capsule: int) -> None:
    """A capsule goes that nobody has used. Its object is about to be freed, so only its raw address is touched."""
    if _raw_valid(capsule, FRESH):
        _forget(_raw_pointer(capsule, FRESH))


_release, _drop = _DELETER(_forget), _DESTRUCTOR(_forget_unused)
