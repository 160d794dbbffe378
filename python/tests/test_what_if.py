"""Comparisons, sweeps and capacity searches are the terminal's."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import servescope
from conftest import ROOT, Terminal

SHORT = {"workload.duration_s": 60}
OVER = {"workload.rate_rps": "0.5:2:4", "scheduler.order": ["fcfs", "lifo"]}
METRICS = ["ttft_s.mean", "ttft_s.p99"]
SWEEP = ["--set", "workload.duration_s=60", "--over", "workload.rate_rps=0.5:2:4", "--over", "scheduler.order=fcfs,lifo"]
SWEEP += ["--metric", ",".join(METRICS), "--seeds", "2"]


def test_a_comparison_is_the_terminals_on_any_number_of_threads(terminal: Terminal) -> None:
    words = ["compare", "--set", "workload.duration_s=60", "--set-b", "scheduler.order=lifo", "--seeds", "7", "--json"]
    printed = terminal(*words).stdout
    for threads in (1, 3):
        answer = servescope.compare(
            settings=SHORT, settings_b={"scheduler.order": "lifo"}, seeds=7, threads=threads
        )
        assert answer.text == printed
    one = terminal(*words[:-3], "--seeds", "1", "--metric", "ttft_s.mean", "--json").stdout
    answer = servescope.compare(SHORT, {**SHORT, "scheduler.order": "lifo"}, metrics="ttft_s.mean", seeds=1)
    assert answer.text == one


def test_notes_on_idle_settings_are_the_terminals(terminal: Terminal) -> None:
    settings = {**SHORT, "scheduler.chunk_tokens": 256}
    words = ["--set", "workload.duration_s=60", "--set", "scheduler.chunk_tokens=256"]
    comparison = servescope.compare(settings=settings, seeds=2)
    printed = terminal("compare", *words, "--seeds", "2", "--json").stderr.splitlines()
    notes = {line.removeprefix("servescope: note: ") for line in printed}
    assert any("scheduler.chunk_tokens" in note for note in notes)
    assert {note for note in comparison.notes if "without effect" in note} <= notes
    assert any("scheduler.chunk_tokens" in note for note in comparison.notes)
    swept = servescope.sweep(settings, {"workload.rate_rps": [1, 2]}, "ttft_s.mean")
    assert any("scheduler.chunk_tokens" in note for note in swept.notes)


def test_a_sweep_is_the_terminals(terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    printed = terminal("sweep", *SWEEP, "--json", "--out", file).stdout
    own = tmp_path / "own.jsonl"
    swept = servescope.sweep(SHORT, OVER, METRICS, seeds=2, out=own)
    assert swept.document.text == printed
    assert swept.lines.encode() == own.read_bytes() == file.read_bytes()
    columns = swept.columns()
    assert columns["workload.rate_rps"].tolist() == [point["point"]["workload.rate_rps"] for point in swept.points]
    assert columns["ttft_s.mean"].dtype == np.float64 and len(columns["ttft_s.p99.low"]) == 8
    assert set(columns["scheduler.order"].tolist()) == {"fcfs", "lifo"}


def test_closed_forms_are_the_terminals(terminal: Terminal) -> None:
    preset = ROOT / "static/presets/mm1.json"
    words = ["sweep", preset, "--set", "workload.duration_s=300", "--over", "workload.rate_rps=0.1,0.5"]
    printed = terminal(*words, "--metric", "queue_s.mean", "--closed-forms", "--json").stdout
    over = {"workload.rate_rps": [0.1, 0.5]}
    swept = servescope.sweep(preset, over, "queue_s.mean", settings={"workload.duration_s": 300}, closed_forms=True)
    assert swept.document.text == printed
    assert "M/M/1" in printed


def test_plan_points_and_join_are_the_terminals(terminal: Terminal, tmp_path: Path) -> None:
    file, whole = tmp_path / "plan.jsonl", tmp_path / "whole.jsonl"
    terminal("sweep", *SWEEP, "--plan", file)
    terminal("sweep", "--points", file, "--out", whole)
    plan = servescope.plan(SHORT, OVER, METRICS, seeds=2)
    assert plan.text() == file.read_text()
    read = servescope.read_plan(file)
    assert len(read) == 16 and read.sweep == plan.sweep
    halves = ["".join(line + "\n" for line in read.run(list(range(part, 16, 2)))).encode() for part in (1, 0)]
    joined = servescope.join(halves)
    assert joined.lines.encode() == whole.read_bytes()
    assert joined.document.text == terminal("sweep", "--join", whole, "--json").stdout


def test_a_sweep_goes_on_where_it_ended_and_repeats_nothing(terminal: Terminal, tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    terminal("sweep", *SWEEP, "--out", whole)
    lines = whole.read_bytes().splitlines(keepends=True)
    own = tmp_path / "own.jsonl"
    # Written in another order, the last one cut off.
    own.write_bytes(lines[9] + lines[2] + lines[5][:40])
    plan = servescope.plan(SHORT, OVER, METRICS, seeds=2)
    journal = servescope.Journal(str(own), plan)
    assert sorted(set(range(16)) - set(journal.missing())) == [2, 9]
    assert any("cut off" in note for note in journal.notes)
    del journal
    swept = servescope.sweep(SHORT, OVER, METRICS, seeds=2, out=own, threads=2)
    assert own.read_bytes() == whole.read_bytes() == swept.lines.encode()
    again = servescope.sweep(SHORT, OVER, METRICS, seeds=2, out=own)
    assert any("16 of 16 runs are there already" in note for note in again.notes)


def test_capacity_is_the_terminals(terminal: Terminal) -> None:
    settings = {"capacity.ttft_s": 6, "capacity.most_requests": 400}
    words = ["capacity", "--set", "capacity.ttft_s=6", "--set", "capacity.most_requests=400"]
    printed = terminal(*words, "--grid", "scheduler.order=fcfs,lifo", "--json").stdout
    answer = servescope.capacity(grid={"scheduler.order": ["fcfs", "lifo"]}, settings=settings, threads=2)
    assert answer.text == printed
    assert len(json.loads(printed)["ranking"]) == 2
