"""The same through zooport, in a fresh process: `zooport_pipeline.py DEPLOYMENT IMAGE` prints the peak memory."""

import sys
from pathlib import Path

import cv2

from backends import load

if __name__ == "__main__":
    load(sys.argv[1])(cv2.imread(sys.argv[2]))
    print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0], flush=True)  # KiB
