"""The yardstick: the steps of a deployment written out by hand with onnxruntime, cv2 and numpy, and nothing of zooport.

As good as we could write it, for one model: what zooport takes from the manifest is passed in. As a script it runs
one image once and prints the peak memory: `onnxruntime_pipeline.py MODEL IMAGE TASK HEIGHT WIDTH PAD`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import onnxruntime

if TYPE_CHECKING:
    from numpy.typing import NDArray

OUTPUTS = {"detection": ["num_dets", "boxes", "scores", "labels"], "semantic-segmentation": ["label_map"]}


class Pipeline:
    """Letterbox, RGB, 0..1, session.run, and boxes or label map in the image's pixels; batch of one."""

    def __init__(self, model: str, task: str, height: int, width: int, pad_value: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = len(os.sched_getaffinity(0))
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.task, self.height, self.width = task, height, width
        self.pad = np.float32(pad_value) / np.float32(255)

    def __call__(self, image: NDArray[np.uint8]) -> tuple[NDArray[Any], ...]:
        """The boxes, scores and labels of an image [h, w, 3] BGR, or its label map."""
        image_height, image_width = image.shape[:2]
        scale = min(self.height / image_height, self.width / image_width)
        height, width = round(image_height * scale), round(image_width * scale)
        planes = cv2.split(cv2.resize(image, (width, height)))
        tensor = np.empty((1, 3, self.height, self.width), np.float32)
        for channel in range(3):
            np.divide(planes[2 - channel], np.float32(255), out=tensor[0, channel, :height, :width])
        tensor[:, :, :, width:] = self.pad
        tensor[:, :, height:, :width] = self.pad
        outputs = self.session.run(OUTPUTS[self.task], {"images": tensor})
        if self.task == "semantic-segmentation":
            valid = outputs[0][0, :height, :width]
            return (cv2.resize(valid, (image_width, image_height), interpolation=cv2.INTER_NEAREST_EXACT),)
        count, boxes, scores, labels = (output[0] for output in outputs)
        x_scale, y_scale = image_width / width, image_height / height
        boxes = boxes[:count] * np.array((x_scale, y_scale, x_scale, y_scale), np.float32)
        limits = np.array((image_width, image_height, image_width, image_height), np.float32)
        return np.minimum(np.maximum(boxes, 0), limits), scores[:count], labels[:count]


if __name__ == "__main__":
    MODEL, IMAGE, TASK, *NUMBERS = sys.argv[1:]
    Pipeline(MODEL, TASK, *map(int, NUMBERS))(cv2.imread(IMAGE))  # type: ignore[arg-type]  # it is there
    print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0], flush=True)  # KiB
