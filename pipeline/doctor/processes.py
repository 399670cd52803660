"""Attempts in a process of their own: one that ends or hangs takes nothing with it, and the others go on."""

import multiprocessing
import os
import sys
from collections.abc import Sequence
from multiprocessing.connection import Connection

from pipeline.base.steps import BeginStep
from pipeline.doctor.attempt import Attempt, attempt
from pipeline.doctor.export_variant import ExportVariant
from pipeline.doctor.subject import Subject

GRACE = 10.0
"""Seconds for a process to end by itself. One that is killed leaves semaphores, of which Python warns the user."""
LOADING = 600.0
"""Seconds for the model to load again, at least: it may be large, or wait for something that this process holds."""


def attempts(
    subject: Subject, ways: Sequence[ExportVariant], *, seconds: float, begin: BeginStep = lambda _: None
) -> list[Attempt]:
    """One for each way, each within `seconds` once the model is loaded.

    One process makes them all, or what is left where one ended it.
    """
    results: list[Attempt] = []
    context = multiprocessing.get_context("spawn")  # a fork of a process with torch's threads may hang
    while len(results) < len(ways):
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(subject, ways[len(results) :], theirs), daemon=True)
        process.start()
        theirs.close()
        try:
            begin("load the model again")
            if not ours.poll(max(seconds, LOADING)):
                fault = "the model loads in no second process"
                return [*results, *(Attempt(way, "exporter", fault) for way in ways[len(results) :])]
            ours.recv()  # it has loaded the model, as this process has before
            for way in ways[len(results) :]:
                begin(str(way))
                if not ours.poll(seconds):
                    results.append(Attempt(way, "exporter", f"no result after {seconds:g} s"))
                    break
                results.append(ours.recv())
            else:
                process.join(GRACE)
        except EOFError:
            process.join()
            results.append(Attempt(ways[len(results)], "exporter", f"the process ended with code {process.exitcode}"))
        finally:
            process.kill()
            process.join()
            ours.close()
    return results


def _work(subject: Subject, ways: Sequence[ExportVariant], results: Connection) -> None:
    """In the other process. What the exporters print goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())
    loaded = subject.load()  # once: a file may declare rewriters, which are declared once in a process
    results.send(None)
    for way in ways:
        results.send(attempt(loaded, way))
