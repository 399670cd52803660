"""report.html: one self-contained page about a deployment, for a person with a browser and nothing else."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import cv2
import jinja2
import numpy as np
from numpy.typing import NDArray

from backends.tensorrt.engine_record import EngineRecord
from pipeline.parity.records import Figure, ParityRecord
from pipeline.preflight import Finding
from pipeline.previews import Preview
from rewriters import ExportRecord
from zoo.manifest import Manifest

REPORT_FILE = "report.html"
TEMPLATE = "report.html.jinja"
EMBEDDED = 12  # previews inside the page; the rest lie in previews/
EMBEDDED_WIDTH = 1200  # pixels
JPEG_QUALITY = 82
MIBIBYTE = 2**20
TITLES = {
    "graph": "Graph: identical tensors into PyTorch and into the backend",
    "pipeline": "Pipeline: a picture into the deployment, and into PyTorch by a path of its own",
}


def write_report(
    folder: Path,
    manifest: Manifest,
    record: ParityRecord,
    export: ExportRecord,
    previews: Sequence[Preview],
    findings: Sequence[Finding] = (),
    engine: EngineRecord | None = None,
) -> Path:
    """Write report.html into the folder."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template(TEMPLATE).render(
        manifest=manifest,
        record=record,
        export=export,
        findings=findings,
        engine=engine,
        dtypes=sorted({dtype for counts in manifest.precision.get("nodes", {}).values() for dtype in counts}),
        memory=f"{export.peak_memory / MIBIBYTE:.0f} MiB",
        comparisons=[_comparison(kind, record) for kind in TITLES],
        gates={f"{kind}.{name}": f"{gate:g}" for kind, gates in record.gates.items() for name, gate in gates.items()},
        previews=[{"source": data_uri(preview.picture), "text": preview.text} for preview in previews[:EMBEDDED]],
        more_previews=max(0, len(previews) - EMBEDDED),
    )
    path = folder / REPORT_FILE
    path.write_text(page, encoding="utf-8")
    return path


def figure_row(figure: Figure) -> dict[str, str]:
    """A figure as the words of a table's row, the same on the terminal and in the report."""
    return {
        "name": figure.name,
        "unit": figure.unit,
        "largest": _number(figure.max_error),
        "mean": _number(figure.mean_error),
        "cosine": "" if figure.cosine is None else f"{figure.cosine:.9f}",
        "gate": "" if figure.gate is None else f"{figure.gate:g}",
        "verdict": "" if figure.gate is None else ("passed" if figure.passed else "missed"),
    }


def data_uri(picture: NDArray[np.uint8]) -> str:
    """The picture inside a link, as a JPEG of at most EMBEDDED_WIDTH pixels."""
    height, width = picture.shape[:2]
    if width > EMBEDDED_WIDTH:
        size = (EMBEDDED_WIDTH, max(1, round(height * EMBEDDED_WIDTH / width)))
        picture = cv2.resize(picture, size, interpolation=cv2.INTER_AREA).astype(np.uint8)
    _, data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    return "data:image/jpeg;base64," + base64.b64encode(data.tobytes()).decode()


def _comparison(kind: str, record: ParityRecord) -> Mapping[str, Any]:
    summary = record.summary(kind)
    cases = [case for case in record.cases if case.kind == kind]
    return {
        "title": TITLES[kind],
        "rows": [figure_row(figure) for figure in summary.figures],
        "cases": [_case_words(case.images, case.shape) for case in cases],
        "matched": summary.matched,
        "borderline": summary.borderline,
    }


def _case_words(images: Iterable[str], shape: Sequence[int]) -> str:
    return f"{'x'.join(map(str, shape))}: {', '.join(images)}"


def _number(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.3g}"
