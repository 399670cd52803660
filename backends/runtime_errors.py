"""What computing may raise beside what the model refuses: one input is too large, say, and the next one is not."""

import cv2

from zoo.errors import ExportError

OF_RUNTIME = (ExportError, MemoryError, cv2.error)


def reason(error: Exception) -> str:
    """What is said of an input for which it was raised."""
    if isinstance(error, MemoryError):
        return "there is not enough memory for it"
    return f"OpenCV cannot process it ({error.err})" if isinstance(error, cv2.error) else str(error)
