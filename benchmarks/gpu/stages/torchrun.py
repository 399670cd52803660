"""(g) One evaluation by several processes, as torchrun starts them, with nccl: the figures of a single one."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from measured import ROOT

from gpu.deployments import IMAGES_REHEARSED
from gpu.lacks import no_torch_device
from gpu.stage import Cell, Findings, Place, Stage

WORDS = ("fcn_r18_digits", "faster-rcnn")  # one model that gives label maps, one whose results differ in number


def cells(place: Place) -> Iterator[Cell]:
    """One for each model: a device for each process, and on a CPU two processes."""
    for config in place.configs(*WORDS):
        yield Cell("evaluation", Path(config).stem, partial(_compared, config))


def _compared(config: str, place: Place, findings: Findings) -> None:
    import torch

    processes = torch.cuda.device_count() if place.device != "cpu" else 2
    torchrun = ["-m", "torch.distributed.run", f"--nproc-per-node={processes}", "--standalone"]
    findings.add({"processes": processes})
    single = _evaluated([], config, place)
    several = _evaluated(torchrun, config, place, "--launcher", "pytorch")
    main = single["metric"]
    findings.add(
        {
            "images": several["dataset"]["images"],
            "metric": main,
            "of one process": single["rows"][0]["figures"][main],
            "of all": several["rows"][0]["figures"][main],
            "every figure equal": [row["figures"] for row in single["rows"]]
            == [row["figures"] for row in several["rows"]],
        }
    )


def _evaluated(launcher: list[str], config: str, place: Place, *flags: str) -> Mapping[str, Any]:
    """What `zooport evaluate` writes with --json, of PyTorch alone."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "evaluation.json"
        device = place.device.partition(":")[0]  # torchrun's processes have one each
        limit = ["--limit", str(IMAGES_REHEARSED)] if place.rehearsal else []
        evaluate = ["-m", "zooport", "evaluate", config, "--backend", "pytorch", "--device", device, *limit, *flags]
        command = [sys.executable, *launcher, *evaluate, "--work-dir", folder, "--json", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        if done.returncode:
            raise RuntimeError(f"exit status {done.returncode}: {done.stderr.strip()[-300:]}")
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return content


STAGE = Stage(
    7,
    "torchrun",
    "Does an evaluation by torchrun and nccl give the figures of a single process?",
    cells,
    no_torch_device,
)
