"""Draw the image of docs/report.md: the top of a deployment's report.

    python docs/draw_report_image.py work_dirs/detection/faster-rcnn_r18-fpn_digits/onnxruntime-fp32

Writes docs/report.webp. Deploy first: `zooport deploy configs/detection/faster-rcnn_r18-fpn_digits.py`.
"""

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

from screenshot import screenshot

OUT = DOCS / "report.webp"
WIDTH, HEIGHT = 1200, 900
QUALITY = 70


def main(deployment: Path) -> None:
    """Of the report in the deployment's folder."""
    screenshot(deployment / "report.html", WIDTH, HEIGHT).save(OUT, quality=QUALITY, method=6)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
