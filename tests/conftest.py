"""For every test."""

import signal

# yapf, which mmengine imports, writes a cache at its first import ever, and not in one step: of two test processes that
# begin together on a fresh machine, one would read half of it. pytest loads this file before it starts them.
import mmengine.config  # noqa: F401
import pytest

# A background job of a shell ignores interrupts, nohup ignores hang-ups, and so would every process that a test starts.
for stop, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(stop) is signal.SIG_IGN:
        signal.signal(stop, usual)

LATER = (
    ("rewriters/ops/", "dynamo"),
    ("rewriters/yolov5/", "dynamo"),
    ("rewriters/test_export_onnx.py", "two_processes"),
    ("rewriters/segmentation/test_torchvision.py", "dynamo"),
    ("rewriters/segmentation/test_slide_inference.py", "[dynamo-gaussian]"),
    ("rewriters/torchvision_detection/", "dynamo"),
    ("rewriters/symbolic/", "dynamo"),
    ("rewriters/restoration/", "dynamo"),
    ("rewriters/graph/test_module_paths.py", "dynamo"),
    ("tools/test_super_resolution.py", "one_file_for_all_scales"),
    ("tools/test_image_sizes.py", "deployment"),
    ("tools/test_command_line.py", "missing_library_is_named_with_what_installs_it[deploy-"),
    ("zoo/training/test_opencv_threads.py", "forked_worker"),
    ("zoo/training/test_optimization.py", "runner_has_all_of_it"),
)
"""Whole exports and processes, by file and name: slow, so that make test stays within ten minutes on two cores. What
they test is tested on every commit by the other exporter, or on a smaller model."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks those of LATER as slow."""
    for item in items:
        if any(file in item.nodeid and name in item.nodeid for file, name in LATER):
            item.add_marker(pytest.mark.slow)
