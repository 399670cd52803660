"""What computing may raise beside what the model refuses: one input is too large, say, and the next one is not."""

import cv2

from zoo.errors import ExportError

OF_RUNTIME = (ExportError, MemoryError, cv2.error)


def without_frames(error: Exception) -> Exception:
    """The error, and what it came from, without what the frames of their tracebacks hold: tensors, for example.

    There may be no memory beside them for another input.
    """
    link: BaseException | None = error
    while link is not None:
        link = link.with_traceback(None).__context__
    return error


def reason(error: Exception) -> str:
    """What is said of an input for which it was raised."""
    if isinstance(error, MemoryError):
        return "there is not enough memory for it"
    return f"OpenCV cannot process it ({error.err})" if isinstance(error, cv2.error) else str(error)
