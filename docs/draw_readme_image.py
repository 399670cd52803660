"""Draw README's image: what PyTorch and a deployment find in one image, and the verdict below.

    python docs/draw_readme_image.py

Deploys the shipped Faster R-CNN (about half a minute) and writes docs/predictions.png. All figures are those of that
deploy, but for the AP, which the model's card records.
"""

import base64
import sys
from dataclasses import replace
from math import floor, log10
from pathlib import Path
from tempfile import TemporaryDirectory

import cv2
import jinja2

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS.parent), str(DOCS)]

from screenshot import screenshot

from pipeline.deploying import Deployed, make_deployment
from pipeline.job.job import Job, plan_job
from pipeline.parity.reference_result import reference_result
from zoo import build_model
from zoo.cards import read_card
from zoo.image_pixels import read_pixels
from zoo.tasks import Result
from zoo.tasks.detection import DetectionResult

CONFIG = DOCS.parent / "configs/detection/faster-rcnn_r18-fpn_digits.py"
IMAGE = DOCS.parent / "zoo/data/digits/val/images/000016.jpg"
OUT = DOCS / "predictions.png"
WIDTH, SCALE = 800, 2
ENLARGED = 2  # drawn at twice the image's size, so that lines and names stay sharp
SCORE = 0.5
COLOURS = 64
TEMPLATE = jinja2.Environment(autoescape=True).from_string("""<!DOCTYPE html>
<meta charset="utf-8">
<style>
  body { margin: 0; padding: 10px; font: 15px/1.4 system-ui, sans-serif; color: #1b1f24; background: #fff; }
  .sides { display: grid; grid-template-columns: 1fr 1fr; gap: 10px; }
  h2 { font-size: 15px; margin: 0 0 5px; font-weight: 600; }
  img { width: 100%; display: block; border-radius: 6px; }
  .verdict { margin-top: 10px; padding: 8px 14px; border: 2px solid #17692f; border-radius: 8px; background: #e6f4ea; }
  .verdict b { display: block; color: #17692f; font-size: 19px; }
</style>
<div class="sides">
{% for title, image in sides %}<div><h2>{{ title }}</h2><img src="{{ image }}"></div>{% endfor %}
</div>
<div class="verdict"><b>✓ {{ verdict }}</b><span>{{ words }}</span></div>
""")


def main() -> None:
    """Deploy, draw, write."""
    with TemporaryDirectory() as folder:
        job = plan_job(CONFIG, None, [IMAGE], folder)
        deployed = make_deployment(job)
        with deployed.deployment as deployment:
            detections = deployment(read_pixels(IMAGE))
        sides = [("PyTorch", _drawn(job, _by_pytorch(job))), (_backend(deployed), _drawn(job, detections))]
        verdict = f"Parity {deployed.record.verdict}"
        page = Path(folder) / "predictions.html"
        page.write_text(TEMPLATE.render(sides=sides, verdict=verdict, words=_words(deployed)), encoding="utf-8")
        image = screenshot(page, WIDTH, scale=SCALE)
    image.quantize(COLOURS).save(OUT, optimize=True)


def _by_pytorch(job: Job) -> Result:
    """What the unpatched model finds, by the path of the proof, which shares no code with the deployment's."""
    model, pixels = build_model(CONFIG).eval(), read_pixels(IMAGE)
    sizes = job.target.image_sizes
    reference = reference_result(model, job.task, job.preprocess, job.forward, pixels, image_sizes=sizes)
    return reference.own.result


def _drawn(job: Job, result: Result) -> str:
    """As a data URI."""
    assert isinstance(result, DetectionResult)
    shown = result[result.scores >= SCORE]
    large = replace(shown, boxes=shown.boxes * ENLARGED)
    pixels = cv2.resize(read_pixels(IMAGE), None, fx=ENLARGED, fy=ENLARGED, interpolation=cv2.INTER_CUBIC)
    _, data = cv2.imencode(".png", job.task.draw(pixels, large))
    return "data:image/png;base64," + base64.b64encode(data.tobytes()).decode()


def _backend(deployed: Deployed) -> str:
    manifest = deployed.deployment.manifest
    version = manifest.versions[manifest.backend]
    return f"Deployment: {manifest.backend} {version}, {manifest.precision['stored']}"


def _words(deployed: Deployed) -> str:
    """The figures in two lines. Raises ValueError where the card has none."""
    record = deployed.record
    summaries = [record.summary(kind) for kind in ("graph", "pipeline")]
    matched, borderline = sum(one.matched for one in summaries), sum(len(one.borderline) for one in summaries)
    errors = {figure.name: figure.max_error for figure in summaries[0].figures}
    measured = read_card(CONFIG).measured
    if measured is None:
        raise ValueError(f"{CONFIG}: its card has no figures")
    figures = {row.name: row.figures[measured.metric] for row in measured.rows}
    return (
        f"{matched} detections matched, {borderline} borderline. Same input: boxes differ by less than "
        f"{_bound(errors['boxes'])} px, scores by less than {_bound(errors['scores'])}. "
        f"Box AP on {measured.images} images: PyTorch {figures['pytorch']:.2f}, "
        f"deployment {figures['onnxruntime-fp32']:.2f}."
    )


def _bound(error: float | None) -> str:
    """The power of ten above it. Raises ValueError where an error is not finite."""
    if error is None:
        raise ValueError("an error is not finite")
    digits = -floor(log10(error)) - 1
    return f"{10.0**-digits:.{max(0, digits)}f}"


if __name__ == "__main__":
    main()
