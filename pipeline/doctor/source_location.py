"""A line of a model's source: what a finding points at."""

import linecache
import sysconfig
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import onnx
import onnxscript
import torch
import torchvision.ops

import rewriters

LIBRARIES = tuple(
    str(Path(str(module.__file__)).parent) for module in (torch, torchvision.ops, onnx, onnxscript, rewriters)
)
INSTALLED, STANDARD = sysconfig.get_path("purelib"), sysconfig.get_path("stdlib")
OWN = str(Path(__file__).parent)


@dataclass(frozen=True)
class SourceLocation:
    """A file and a line of it, from 1."""

    file: str
    line: int

    @property
    def code(self) -> str:
        """The line's text."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        """As short as can be: from the working folder, or from where packages are installed."""
        path = Path(self.file)
        folder = next((folder for folder in (Path.cwd(), Path(INSTALLED)) if path.is_relative_to(folder)), None)
        return f"{path.relative_to(folder) if folder else path}:{self.line}"


def is_model_source(file: str) -> bool:
    """Whether a model may be written there: not in torch, torchvision's operators, the exporters or Python itself."""
    if file.startswith("<") or any(file.startswith(f"{folder}/") for folder in (*LIBRARIES, OWN)):
        return False
    return file.startswith(INSTALLED) or not file.startswith(f"{STANDARD}/")


def innermost(stack: Iterable[tuple[str, int]]) -> SourceLocation | None:
    """The last line of a stack of (file, line), the innermost last, that is a model's source."""
    places = [SourceLocation(file, line) for file, line in stack if is_model_source(file)]
    return places[-1] if places else None


def location_of_error(error: BaseException) -> SourceLocation | None:
    """The innermost line of the model in the tracebacks of an error and of what caused it."""
    place = None
    cause: BaseException | None = error
    while cause is not None:
        stack = [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(cause.__traceback__)]
        place = innermost(stack) or place
        cause = cause.__cause__ or cause.__context__
    return place
