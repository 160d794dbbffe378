"""The functions of the package."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _servescope as native
from ._inputs import (
    ProfileInput,
    ScenarioInput,
    Settings,
    TraceInput,
    axes_of,
    names_of,
    profile_of,
    scenario_of,
    trace_of,
)
from ._results import Document, Requests, Simulation, SweepResult
from ._servescope import Journal, Plan

Over = Mapping[str, Any] | Sequence[str]


def simulate(
    scenario: ScenarioInput = None,
    trace: TraceInput = None,
    *,
    settings: Settings | None = None,
    profile: ProfileInput = None,
) -> Simulation:
    """Simulates one run.

    The summary is that of `servescope simulate --json`, the requests are the columns of its `requests.csv`. `settings` are set
    on top of the scenario. Ctrl-C ends the run.

    Raises ServescopeError for a bad scenario, trace or profile, OSError for a file that cannot be read.
    """
    text, columns = native.simulate(scenario_of(scenario, settings, profile), trace_of(trace))
    return Simulation(Document(text), Requests._of(columns))


def compare(
    a: ScenarioInput = None,
    b: ScenarioInput = None,
    trace: TraceInput = None,
    *,
    settings: Settings | None = None,
    settings_a: Settings | None = None,
    settings_b: Settings | None = None,
    profile: ProfileInput = None,
    metrics: str | Iterable[str] = (),
    seeds: int | None = None,
    threads: int | None = None,
) -> Document:
    """Compares two settings over the same seeds: what `servescope compare --json` prints.

    Without b it is a. `settings` are set in both, `settings_a` and `settings_b` in one. Seeds are 20 by default; with 1, and by
    default with a trace, batches of one run take their place. The result does not depend on `threads`, one a core by default.
    """
    both = dict(settings or {})
    of_a = scenario_of(a, {**both, **(settings_a or {})}, profile)
    of_b = scenario_of(a if b is None else b, {**both, **(settings_b or {})}, profile)
    return Document(*native.compare(of_a, of_b, trace_of(trace), names_of(metrics), seeds, threads))


def capacity(
    scenario: ScenarioInput = None,
    grid: Over = (),
    trace: TraceInput = None,
    *,
    settings: Settings | None = None,
    profile: ProfileInput = None,
    threads: int | None = None,
) -> Document:
    """Searches the highest rate that meets the goal of `capacity.*`, for every configuration of a grid: what
    `servescope capacity --json` prints.

    A grid is parameters with their values, such as `{"fleet.replicas": [1, 2, 4]}`.
    """
    whole = scenario_of(scenario, settings, profile)
    return Document(*native.capacity(whole, axes_of(grid), trace_of(trace), threads))


def read_plan(path: str | os.PathLike[str], trace: TraceInput = None, profile: ProfileInput = None) -> Plan:
    """The plan of a file that `servescope sweep --plan` or `plan` wrote; the trace and the profile that it was made with come
    beside it."""
    text = Path(path).read_text(encoding="utf-8")
    return Plan.from_text(text, trace_of(trace), profile_of(profile))


def plan(
    scenario: ScenarioInput,
    over: Over,
    metrics: str | Iterable[str],
    *,
    seeds: int = 1,
    trace: TraceInput = None,
    settings: Settings | None = None,
    profile: ProfileInput = None,
) -> Plan:
    """Plans a sweep: the runs that any number of machines may share.

    `over` has each parameter with a list of values or a range such as "0.5:3:6" or "0.5:8:9:log", or is a list of texts as the
    terminal's `--over` takes them.
    """
    whole = scenario_of(scenario, settings, profile)
    return Plan(whole, axes_of(over), names_of(metrics), seeds, trace_of(trace))


def sweep(
    scenario: ScenarioInput,
    over: Over,
    metrics: str | Iterable[str],
    *,
    seeds: int = 1,
    trace: TraceInput = None,
    settings: Settings | None = None,
    profile: ProfileInput = None,
    closed_forms: bool = False,
    laws: bool = False,
    out: str | os.PathLike[str] | None = None,
    threads: int | None = None,
) -> SweepResult:
    """Simulates every combination of some parameters' values, each with these seeds.

    With `out` each finished run is a line of that file, and a sweep that finds the file goes on where it ended: Ctrl-C, which is
    heard between runs, loses none that is finished. `closed_forms` (or `laws`) adds what queueing
    theory says of the points.
    """
    planned = plan(scenario, over, metrics, seeds=seeds, trace=trace, settings=settings, profile=profile)
    journal = Journal(None if out is None else os.fspath(out), planned)
    planned.run(journal.missing(), threads, journal)
    journal.finish()
    lines = journal.text()
    return SweepResult(Document(planned.results(lines, closed_forms or laws), planned.notes() + journal.notes), lines)


def join(files: Iterable[str | os.PathLike[str] | bytes]) -> SweepResult:
    """Puts the lines of several files of one sweep together, as `servescope sweep --join` does."""

    def named(file: str | os.PathLike[str] | bytes) -> tuple[str, bytes]:
        return ("lines", file) if isinstance(file, bytes) else (os.fspath(file), Path(file).read_bytes())

    lines, text = native.join([named(file) for file in files])
    return SweepResult(Document(text), lines)
