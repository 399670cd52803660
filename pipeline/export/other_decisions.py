"""Inputs for which a user's own code decides otherwise: a trace silently keeps what it decided for the example."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from numpy.typing import NDArray

from pipeline.doctor.source_location import SourceLocation
from pipeline.doctor.tracer_warnings import watch
from pipeline.job.job import Job
from pipeline.parity.graph_inputs import GraphInput
from zoo.input_kinds.proof import input_proof
from zoo.own_code import is_own
from zoo.tasks.contract import Contract

Decisions = dict[SourceLocation, list[str]]
"""By line of the user's own code: the Python values that it made of tensors, as bool() and .item() do, in turn."""


def at_other_decisions(job: Job, contract: Contract, inputs: Sequence[GraphInput]) -> Iterator[GraphInput]:
    """The first of the cases with other contents, where these change what a line decides: a case for each such line.

    None for dynamo, which refuses such code by itself, and for a model whose own code decides nothing by numbers.
    """
    if job.target.exporter != "torchscript":
        return
    decided = _decisions(contract, inputs[0].arrays)
    contents = input_proof(job.task.kind).other_contents(inputs[0].arrays) if decided else ()
    for words, arrays in contents:
        try:
            others = _decisions(contract, arrays)
        except Exception:  # noqa: BLE001, S112 - what the user's code raises for an image that is none says nothing here
            continue
        if changed := [place for place, values in decided.items() if others.get(place) != values]:
            yield replace(inputs[0], images=(f"{words}, for which {changed[0]} decides otherwise",), arrays=arrays)
            decided = {place: values for place, values in decided.items() if place not in changed}


def _decisions(contract: Contract, arrays: Mapping[str, NDArray[Any]]) -> Decisions:
    feed = {name: torch.from_numpy(array) for name, array in arrays.items()}
    watched = watch(contract, feed, operators=False)
    return {place: values for place, values in watched.values.items() if is_own(place.file)}
