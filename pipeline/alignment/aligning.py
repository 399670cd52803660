"""Aligning a model in PyTorch with a graph of it, layer by layer."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from pipeline.alignment.bisecting import bisect
from pipeline.alignment.comparing import Comparison
from pipeline.alignment.eager_run import EagerRun
from pipeline.alignment.engines import fuses, piece_opener, whole_opener
from pipeline.alignment.records import Alignment, Pair
from pipeline.alignment.subject import Subject, load_subject
from pipeline.base.steps import BeginStep, unseen
from pipeline.export.constants import constants_at_sizes
from pipeline.graphs.graph_runs import opened, run_with
from pipeline.parity.levels import compare_outputs
from pipeline.parity.records import ComparedConstant
from rewriters.precision.rounded import rounded
from zoo.comparison import Findings
from zoo.config import ConfigSource
from zoo.errors import ExportError, InputError
from zoo.progress import Progress
from zoo.target import Target
from zoo.tasks.proof import proof_of

THRESHOLDS: Mapping[str, float] = {"fp32": 1e-4, "fp16": 5e-2, "int8": 0.5}
"""Of a tensor's largest magnitude, by precision. What they rest on: docs/measured/alignment*.md."""
MEMORY = 512 << 20  # bytes of tensors of both sides that are held at once


def align(
    config: ConfigSource,
    target: Target | None = None,
    images: Sequence[str | Path] = (),
    *,
    checkpoint: str | Path | None = None,
    deployment: str | Path | None = None,
    onnx: str | Path | None = None,
    threshold: float | None = None,
    by_pieces: bool | None = None,
    memory: int = MEMORY,
    step: BeginStep = unseen,
    progress: Progress = lambda _what, _done, _all: None,
) -> Alignment:
    """Compare the tensors of the unpatched PyTorch model and of its graph, and name the first module that differs.

    `target`: None for the config's own, or the deployment's. `images`: files; if there are fewer than two, the config's
    data set adds more. `deployment`, `onnx`: a folder or a file of an earlier deploy; without them the model is
    exported now. `threshold`: the largest relative error; None for that of the precision. `by_pieces`: bisect with
    engines of pieces of the graph; None: only if the backend fuses. `memory`: bytes of tensors that are held at once.
    `step` and `progress` are called with what is done. Raises the errors of a deploy.
    """
    if threshold is not None and not 0 < threshold < 1:
        raise InputError(f"threshold {threshold:g}: expected a fraction of a tensor's largest value, between 0 and 1")
    subject = load_subject(
        config,
        target,
        images,
        checkpoint=checkpoint,
        deployment=deployment,
        onnx_file=onnx,
        progress=step,
    )
    limit = THRESHOLDS[subject.target.precision] if threshold is None else threshold
    return align_subject(subject, limit, memory, by_pieces=by_pieces, progress=progress)


def align_subject(
    subject: Subject,
    threshold: float,
    memory: int,
    *,
    by_pieces: bool | None = None,
    images: int | None = None,
    progress: Progress = lambda _what, _done, _all: None,
) -> Alignment:
    """As `align`, of what was loaded before. `images`: only so many of its cases."""
    pieces = fuses(subject.target) if by_pieces is None else by_pieces
    opener = piece_opener(subject.target) if pieces else None
    constants = tuple(_constants(subject))
    if subject.target.precision == "fp16" and not pieces:
        subject = replace(subject, model=rounded(subject.model))
    alignments = []
    cases = subject.cases[:images]
    for number, case in enumerate(cases, 1):

        def count_pieces(what: str, done: int, total: int, number: int = number) -> None:
            progress(f"image {number} of {len(cases)}: {what}", done, total)

        comparison = Comparison(subject.module, subject.model, case.arrays, subject.extra, threshold, memory)
        run = comparison.compare(count_pieces)
        with opened(subject.model, opener or whole_opener(subject.target)) as runner:  # at once, as it is deployed
            outputs = _outputs(subject, run, run_with(runner, {**case.arrays, **subject.extra}))
        alignments.append(
            Alignment(
                tuple(comparison.pairs if opener is None else bisect(comparison, opener, count_pieces)),
                threshold,
                case.images,
                outputs,
                comparison.absent,
                changed=comparison.changed,
                by_pieces=pieces,
                last=comparison.last,
                constants=constants,
            )
        )
    return merged(alignments, _notes(subject.target, rounding=subject.target.precision == "fp16" and not pieces))


def _constants(subject: Subject) -> Iterator[ComparedConstant]:
    """Those of the graph that differ from the model's, also where no image shows it; of a whole graph alone."""
    if subject.outputs is None:
        return
    with suppress(ExportError):  # of a graph that ONNX Runtime refuses whole the pairs say more
        compared = constants_at_sizes(subject.job, subject.module.model, subject.given, subject.model, subject.host)
        yield from (constant for constant in compared if not constant.passed)


def merged(alignments: Sequence[Alignment], notes: Sequence[str] = ()) -> Alignment:
    """Those of several images as one."""
    pairs: dict[str, Pair] = {}
    for alignment in alignments:
        for pair in alignment.pairs:
            pairs[pair.tensor] = pairs[pair.tensor] + pair if pair.tensor in pairs else pair
    judged = [one.outputs for one in alignments if one.outputs is not None]
    changes = [one.changed for one in alignments if one.changed is not None]
    return replace(
        alignments[0],
        pairs=tuple(pairs.values()),
        images=tuple(dict.fromkeys(name for one in alignments for name in one.images)),
        outputs=sum(judged[1:], start=judged[0]) if judged else None,
        changed=max(changes, default=None),
        notes=tuple(notes),
    )


def _outputs(subject: Subject, run: EagerRun, actual: Mapping[str, NDArray[Any]]) -> Findings | None:
    """The contract's outputs by the rules and gates of parity: detections as sets, pixels by their margins."""
    if subject.outputs is None or subject.target.precision != "fp32":  # below fp32 the metric judges them
        return None
    expected = dict(zip(subject.outputs, run.outputs, strict=True))
    task, level = subject.job.task, subject.target.level
    logits = None if run.own is None else proof_of(task).logits(run.own, expected)
    return compare_outputs(task, level, expected, actual, subject.job.gates["graph"], subject.rule, logits)


def _notes(target: Target, *, rounding: bool) -> list[str]:
    notes = []
    if rounding:
        notes.append("ONNX Runtime's CPU provider computes fp16 in fp32; here every fp16 result is rounded to fp16.")
    if target.slide == "host":
        notes.append("Slide inference on the host: the graph is the model of one window, and the first was compared.")
    if target.precision != "fp32":
        notes.append(
            f"Precision {target.precision}: rounding is expected; the threshold is wide, and the outputs "
            "are not judged here: the metric decides (zooport evaluate)."
        )
    return notes
