"""Deployments that the stages make, once each, and what is found out while they are made and evaluated."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gpu.stage import Figure, Findings, Place
from pipeline.base.steps import unseen
from pipeline.deploying import Deployed, make_deployment
from pipeline.evaluating import evaluate
from pipeline.job.deploy_target import Dynamic, deploy_target
from pipeline.job.job import plan_job
from pipeline.stages import export, prepare
from zoo.cards import TrainingRecord
from zoo.config import load_config
from zoo.errors import InputError
from zoo.files.writing import write_whole
from zoo.manifest import ONNX_FILE, Manifest
from zoo.opened_folder import MANIFEST_FILE

IMAGES_REHEARSED = 4


def deploy(
    config: str, place: Place, label: str, findings: Findings, dynamic: Dynamic | None = None, **changes: Any
) -> Path:
    """Deploy for the place's device, also where a gate is missed: that is a finding. The folder of the deployment."""
    target = deploy_target(load_config(config), dynamic, device=place.device, **changes)
    job = plan_job(config, target, (), place.scratch / label)
    deployed = make_deployment(job, allow_parity_failure=True)
    with deployed.deployment:
        findings.add(_proof(deployed) | _made(deployed))
    return deployed.place


def rehearsed(config: str, place: Place, lines: str) -> str:
    """The config; in a rehearsal one with these lines more, of the same name, so that its card is found."""
    if not place.rehearsal:
        return config
    small = place.scratch / "configs" / Path(config).name
    write_whole(small, f'_base_ = ["{config}"]\n{lines}', make_folders=True)
    return str(small)


def made_deployment(config: str, place: Place, label: str) -> Path:
    """The folder of a deployment that an earlier cell made. Raises InputError where there is none."""
    found = sorted((place.scratch / label).glob(f"*/{Path(config).stem}/*/{MANIFEST_FILE}"))
    if not found:
        raise InputError(f"{Path(config).stem}: there is no deployment {label}; run the stage's other cells first")
    return found[0].parent


def graph_file(config: str, place: Place, label: str, **changes: Any) -> Path:
    """The file of the graph: of a deployment that an earlier cell made, or exported alone, once, without a proof."""
    with suppress(InputError):
        return made_deployment(config, place, label) / ONNX_FILE
    file = place.scratch / f"{label}-graphs" / f"{Path(config).stem}.onnx"
    if not file.is_file():
        target = deploy_target(load_config(config), None, device=place.device, **changes)
        job = plan_job(config, target, (), place.scratch)
        file.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=file.parent) as folder:
            export(prepare(job, Path(folder), None, unseen), unseen)
            (Path(folder) / ONNX_FILE).replace(file)
    return file


def deployed_once(config: str, place: Place, label: str, findings: Findings, **changes: Any) -> Path:
    """The folder of a deployment that an earlier cell made, or of one that is made now."""
    try:
        return made_deployment(config, place, label)
    except InputError:
        return deploy(config, place, label, findings, **changes)


def metric(config: str, folder: Path, place: Place, findings: Findings) -> None:
    """The metric of PyTorch and of the deployment, both on the place's device, on the config's own data set."""
    limit = IMAGES_REHEARSED if place.rehearsal else None
    # beside the deployment: evaluations of one model that run at once need folders of their own
    found = evaluate(config, deployments=[folder], device=place.device, limit=limit, work_dir=folder.parents[2])
    reference, candidate = found.rows
    main = found.metric or ""
    findings.add(
        {
            "metric": main.rpartition("/")[2],
            "images": found.images,
            "PyTorch": reference.figures.get(main),
            "published": published(config, main),
            "difference": candidate.difference,
            "judged": candidate.verdict,
        }
    )


def _proof(deployed: Deployed) -> dict[str, Figure]:
    """The verdict of parity, and how near to its gate the nearest figure is."""
    record = deployed.record
    figures: dict[str, Figure] = {"verdict": record.verdict, "ran on its backend": record.by_engine}
    gated = [
        (figure.max_error / figure.gate, figure.name)
        for case in record.cases
        for figure in case.findings.figures
        if figure.gate and figure.gate > 0 and figure.max_error is not None  # that of a noise in dB is below 0
    ]
    if gated:
        part, name = max(gated)
        figures |= {"nearest to its gate": name, "of that gate": part}
    if record.metric and not isinstance(record.metric, str):
        first = record.metric[0]
        judged = {"PyTorch": first.reference, "difference": first.difference, "gate": first.gate}
        figures |= {f"deploy's metric, {name}": value for name, value in judged.items()}
    if record.failures:
        figures["first failure"] = record.failures[0]
    return figures


def _made(deployed: Deployed) -> dict[str, Figure]:
    manifest = Manifest.read(deployed.place)
    figures: dict[str, Figure] = {"computes in": _counts(manifest.precision.get("nodes", {}).get("computed"))}
    if deployed.engine is not None:
        size = sum((deployed.place / name).stat().st_size for name in manifest.files if name.endswith(".engine"))
        figures |= {"build s": deployed.engine.seconds, "plan MB": size / 1e6}
    return figures


def _counts(layers: Mapping[str, int] | None) -> str | None:
    """{"float16": 30, "float32": 2} -> "30 float16, 2 float32"; None for what was not counted."""
    return None if not layers else ", ".join(f"{count} {dtype}" for dtype, count in layers.items())


def published(config: str, main: str) -> float | None:
    """The figure on the card of the shipped weights: of eager PyTorch on a CPU."""
    loaded = load_config(config)
    card = TrainingRecord.read(Path(str(loaded.weights)).with_suffix(".json"))
    return next((row.get(main) for name, row in card.figures.items() if Path(name).stem == loaded.name), None)
