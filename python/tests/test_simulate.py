"""One run: the summary and the requests are the terminal's."""

from __future__ import annotations

import csv
import json
import math
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import servescope
from conftest import ROOT, Terminal

PRESETS = sorted(path for path in (ROOT / "static/presets").glob("*.json") if path.name != "index.json")
SHORT = {"workload.duration_s": 60}


def arguments(settings: dict[str, Any]) -> list[str]:
    return [word for path, value in settings.items() for word in ("--set", f"{path}={value}")]


@pytest.mark.parametrize("preset", PRESETS, ids=lambda path: path.stem)
def test_the_summary_of_each_preset_is_the_terminals(preset: Path, terminal: Terminal) -> None:
    told = terminal("simulate", preset, *arguments(SHORT), "--json").stdout
    summary, _ = servescope.simulate(preset, settings=SHORT)
    assert summary.text == told
    assert dict(summary) == json.loads(told)


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


@pytest.mark.parametrize("settings", [{}, {"workload.rate_rps": 6, "scheduler.kind": "vllm_v1", "gateway.kind": "proxy"}])
def test_the_requests_are_those_of_requests_csv(settings: dict[str, Any], terminal: Terminal, tmp_path: Path) -> None:
    terminal("simulate", *arguments({**SHORT, **settings}), "--out", tmp_path)
    rows = list(csv.DictReader((tmp_path / "requests.csv").open()))
    summary, requests = servescope.simulate({**SHORT, **settings})
    assert list(requests) == list(rows[0])
    assert requests.count == len(rows) == summary["requests"]["offered"]
    for name, column in requests.items():
        cells = [row[name] for row in rows]
        if column.dtype == np.int64:
            assert column.tolist() == [int(cell) for cell in cells], name
        elif column.dtype == np.float64:
            told = [bits(float(cell)) if cell else None for cell in cells]
            assert [None if math.isnan(x) else bits(x) for x in column.tolist()] == told, name
        else:
            assert column.tolist() == cells, name
    assert not requests["id"].flags.writeable


def test_arrow_has_null_where_there_is_no_time() -> None:
    _, requests = servescope.simulate({**SHORT, "workload.rate_rps": 20, "scheduler.max_request_tokens": 300})
    table = requests.to_arrow()
    assert table.num_rows == requests.count and table.column_names == list(requests)
    missing = int(np.isnan(requests["first_token_s"]).sum())
    assert 0 < missing < requests.count
    assert table["first_token_s"].null_count == missing
    assert set(table["outcome"].to_pylist()) == set(requests["outcome"].tolist())


def test_a_trace_takes_the_place_of_generated_requests(terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    terminal("generate", *arguments(SHORT), "-o", file)
    told = terminal("simulate", "--trace", file, "--set", "scheduler.order=lifo", "--json").stdout
    scenario = {"scheduler": {"order": "lifo"}}
    for trace in (file, str(file), file.read_bytes(), servescope.Trace("trace.csv", file.read_bytes())):
        assert servescope.simulate(scenario, trace).summary.text == told


def test_a_scenario_comes_in_many_forms(tmp_path: Path) -> None:
    file = tmp_path / "scenario.json"
    file.write_text('{"workload": {"rate_rps": 3, "duration_s": 60}}')
    forms: list[servescope.ScenarioInput] = [
        file,
        str(file),
        {"workload": {"rate_rps": 3, "duration_s": 60}},
        {"workload.rate_rps": np.float64(3), "workload.duration_s": np.int64(60)},
        servescope.Scenario().with_settings([("workload.rate_rps", "3"), ("workload.duration_s", "60")]),
    ]
    digests = {servescope.simulate(form).summary["digest"] for form in forms}
    digests.add(servescope.simulate(settings={"workload.rate_rps": 3, **SHORT}).summary["digest"])
    assert len(digests) == 1
    ranks = {"workload.adapters.ranks": np.array([8, 64]), "workload.adapters.count": 4}
    listed = servescope.simulate(settings={**SHORT, **ranks}).summary
    assert listed.text == servescope.simulate({**SHORT, **ranks}).summary.text
    assert pickle.loads(pickle.dumps(listed)).text == listed.text
