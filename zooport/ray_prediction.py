"""`zooport predict --engine ray`: the run, its progress and its summary."""

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from backends.graph_settings import graph_defaults, graph_settings
from backends.scale.blocks import Block, in_blocks, limited, row_reads, usual_piece, usual_size
from backends.scale.cluster import cluster, fitting_actors
from backends.scale.inputs import Inputs, find_inputs, reached
from backends.scale.prediction import extent, held, predict_blocks
from backends.scale.predictor import PredictionJob
from backends.scale.run_folder import RunFolder
from backends.scale.shipped import ShippedDeployment, deployment_contents
from backends.scale.storage import is_uri
from zoo.addresses import without_password
from zoo.errors import SomeInputsFailedError
from zoo.notices import notice
from zoo.progress import Progress
from zooport.prediction_options import check_task, graph_inputs
from zooport.ray_options import check_ray_options
from zooport.terminal import write_fault

if TYPE_CHECKING:
    from zoo.manifest import Manifest

PREDICT = "predict"  # what the bar counts
MOST_READS = 2.5  # of a row of a Parquet file, without a notice: those of a row group in four blocks
FAULTS_KEPT = 1000  # lines for --json; all of them are in the results


class RayPrediction:
    """Everything that can be known to be wrong is, before a cluster is started and a file is written."""

    def __init__(self, options: argparse.Namespace) -> None:
        check_ray_options(options)
        self.options = options
        manifest, contents = deployment_contents(options.deployment)
        inputs = _graph_inputs(options, manifest)
        self._task = manifest.build_task()
        self.plural = self._task.kind.plural
        check_task(options, self._task)
        out = str(options.out)
        identity = {name: record["sha256"] for name, record in manifest.files.items()}
        uris = reached([*options.image, *options.source])
        names = ("recursive", "limit", "score", "classes", "input", "block_size")
        settings = {
            "deployment": identity,
            **{name: _shown(getattr(options, name)) for name in ("source", "image")},
            **{name: getattr(options, name) for name in names},
        }
        self.folder = RunFolder(out, settings, resume=options.resume)
        deployment = ShippedDeployment(str(options.deployment), contents, options.device)
        self.job = PredictionJob(deployment, out, inputs, options.score, tuple(options.classes), uris)
        self.faults: list[str] = []
        self.images = self.failed = self.images_before = self.blocks = self.actors = 0
        self.seconds = 0.0

    def run(self, count: Progress) -> None:
        """All that is left to do. Raises SomeInputsFailedError in the end if images have faults."""
        options = self.options
        requested = None
        if not self.folder.begun:
            names = [*options.image, *options.source]
            inputs = find_inputs(names, self._task.kind, recursive=options.recursive)
            requested = list(limited(inputs, options.limit))
        with ExitStack() as opened:
            ray = opened.enter_context(cluster(options.address))
            actors = fitting_actors(ray.nodes(), options.workers, options.gpus or 0)
            opened.enter_context(held(self.folder))
            if requested is not None:
                self.folder.begin(_plan(requested, options.block_size, actors.size))
            before = extent(self.folder)
            self.images_before, self.failed = before.images_finished, before.faults_finished
            self.blocks, self.actors = before.blocks, min(actors.size, before.blocks)
            count(PREDICT, 0, before.images - before.images_finished)
            start = time.monotonic()
            for block in predict_blocks(ray, self.folder, self.job, actors):
                self._add(block.images, block.faults)
                self.seconds = time.monotonic() - start
                count(PREDICT, self.images, before.images - before.images_finished)
        if self.failed:
            first = f", the first: {self.faults[0]}" if self.faults else ""
            raise SomeInputsFailedError(f"{self.failed} of {self.images + self.images_before} inputs failed{first}")

    @property
    def data(self) -> dict[str, Any]:
        """For --json."""
        return {
            "deployment": str(self.options.deployment),
            "inputs": self.images,
            "inputs_before": self.images_before,
            "failed": self.faults,
            "failures": self.failed,
            "actors": self.actors,
            "written": [self.folder.storage.location],
        }

    @property
    def summary(self) -> str:
        """One line."""
        rate = f", {self.images / self.seconds:.1f} {self.plural}/s" if self.seconds else ""
        earlier = f", {self.images_before} more by an earlier run" if self.images_before else ""
        return (
            f"{self.folder.storage.location}: {self.images} {self.plural} by {self.actors} actors{rate}{earlier}; "
            f"{self.failed} with a fault, in {self.blocks} files"
        )

    def _add(self, images: int, faults: list[str]) -> None:
        self.images += images
        self.failed += len(faults)
        self.faults += faults[: FAULTS_KEPT - len(self.faults)]
        for fault in faults:
            write_fault(fault)


def _plan(inputs: Sequence[Inputs], block_size: int | None, actors: int) -> Iterator[Block]:
    """The blocks, with a notice where their row groups are too large for them."""
    images = sum(each.images for each in inputs)
    piece = block_size or usual_piece(images, actors)
    if (reads := row_reads(inputs, piece)) > MOST_READS:
        larger = ", or give a larger --block-size" if block_size else ""
        notice(
            f"each row of the Parquet files is read {reads:.1f} times on average, because a block that begins within a "
            f"row group reads it from its first row; write row groups of at most {piece} rows{larger}"
        )
    return in_blocks(inputs, block_size or usual_size(images), piece)


def _shown(names: Sequence[str]) -> list[str]:
    """Sources as they may be written down."""
    return [without_password(name) if is_uri(name) else name for name in names]


def _graph_inputs(options: argparse.Namespace, manifest: "Manifest") -> Mapping[str, float]:
    """Raises InputError for a deployment, and for inputs of its graph, that have no results."""
    manifest.check_results(options.deployment)
    inputs = graph_inputs(options.input)
    graph_settings(str(options.deployment), graph_defaults(manifest.inputs, manifest.defaults), inputs)
    return inputs
