"""Bad input is one exception that says what is wrong, and Ctrl-C is heard."""

from __future__ import annotations

import copy
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import servescope
from servescope import ServescopeError


@pytest.mark.parametrize(
    ("scenario", "code", "path"),
    [
        ({"workload.rate_rps": -1}, "out_of_range", "workload.rate_rps"),
        ({"workload": {"rate_rps": "fast"}}, "not_a_number", "workload.rate_rps"),
        ({"workload": {"rate_rps": float("nan")}}, "bad_json", ""),
        ({"workload.rate": 1}, "unknown_parameter", "workload.rate"),
        ({"scheduler.kind": "fifo"}, "unknown_option", "scheduler.kind"),
        ({"a": 1, "b": 2}, "not_a_scenario", ""),
        ("#v=2&zz=1", "bad_link", ""),
    ],
)
def test_a_bad_scenario_is_told_with_place_bound_and_value(scenario: Any, code: str, path: str) -> None:
    with pytest.raises(ServescopeError) as caught:
        servescope.simulate(scenario)
    error = caught.value
    assert error.code == code, error
    assert path in error.path and str(error) and error.message in str(error)
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (other.failures, str(other)) == (error.failures, str(error))


def test_every_failure_is_told() -> None:
    with pytest.raises(ServescopeError) as caught:
        servescope.simulate(settings={"workload.rate_rps": -1, "seed": 1, "fleet.wings": 2})
    assert [failure.code for failure in caught.value.failures] == ["out_of_range", "unknown_parameter"]
    assert caught.value.params["value"] == -1 and caught.value.params["min"] == 0.001


CALLS: list[tuple[Callable[[], object], str]] = [
    (lambda: servescope.simulate(trace=b"no trace at all"), "not between|format|columns"),
    (lambda: servescope.simulate(trace=b""), "empty"),
    (lambda: servescope.simulate(trace=bytes(range(256)) * 40), "."),
    (lambda: servescope.Profile("p", "nonsense"), "p: "),
    (lambda: servescope.compare(seeds=0), "seeds: 0 is not between 1 and 10000"),
    (lambda: servescope.compare(seeds=-3), "seeds: -3"),
    (lambda: servescope.compare(seeds=2, threads=0), "threads: 0"),
    (lambda: servescope.compare(metrics="ttft_s.p98"), "ttft_s.p9"),
    (lambda: servescope.compare(settings_b={"workload.duration_s": 0}), "workload.duration_s"),
    (lambda: servescope.sweep(None, {}, "ttft_s.mean"), "1 to 4 parameters"),
    (lambda: servescope.sweep(None, {"seed": [1]}, "ttft_s.mean"), "no axis"),
    (lambda: servescope.sweep(None, {"workload.rate_rps": "1:2"}, "ttft_s.mean"), "expected"),
    (lambda: servescope.sweep(None, {"workload.rate_rps": [1]}, []), "number of the summary"),
    (lambda: servescope.Plan.from_text("{}"), "no plan of a sweep"),
    (lambda: servescope.Plan.from_text(""), "no plan of a sweep"),
    (lambda: servescope.plan(None, {"workload.rate_rps": [1]}, "ttft_s.mean").run([1]), "the plan has 1 runs"),
    (lambda: servescope.plan(None, {"workload.rate_rps": [1]}, "ttft_s.mean").results("{}\n"), "no result of a sweep"),
    (lambda: servescope.join([b"{}\n"]), "lines: line 1 is no result"),
    (lambda: servescope.join([]), "no result"),
    (lambda: servescope.capacity(grid=["fleet.wings=2"]), "fleet.wings"),
    (lambda: servescope.capacity({"capacity.grid": ""}, {"capacity.ttft_s": [1]}), "of the service"),
]


@pytest.mark.parametrize(("call", "told"), CALLS, ids=range(len(CALLS)))
def test_bad_arguments_are_told(call: Callable[[], object], told: str) -> None:
    with pytest.raises(ServescopeError, match=told):
        call()


def test_a_missing_file_is_the_systems_own_error(tmp_path: Path) -> None:
    for call in (servescope.simulate, servescope.read_plan):
        with pytest.raises(FileNotFoundError):
            call(tmp_path / "absent.json")
    with pytest.raises(TypeError, match="no value of a parameter"):
        servescope.simulate(settings={"seed": object()})


def test_a_file_of_another_sweep_is_refused(tmp_path: Path) -> None:
    out, scenario = tmp_path / "out.jsonl", {"workload.duration_s": 20}
    servescope.sweep(scenario, {"workload.rate_rps": [1, 2]}, "ttft_s.mean", out=out)
    before = out.read_bytes()
    with pytest.raises(ServescopeError, match="of another sweep"):
        servescope.sweep(scenario, {"workload.rate_rps": [1, 3]}, "ttft_s.mean", out=out)
    assert out.read_bytes() == before
    plan = servescope.plan(scenario, {"workload.rate_rps": [1, 2]}, "ttft_s.mean")
    journal = servescope.Journal(str(out), plan)
    with pytest.raises(ServescopeError, match="another sweep writes"):
        servescope.Journal(str(out), plan)
    first = plan.run([0])[0]
    journal.add(first)
    with pytest.raises(ServescopeError, match="is there twice|changed"):
        journal.add(first.replace('"digest":"', '"digest":"f'))
    assert out.read_bytes() == before


LONG = """
import servescope, sys
print("ready", flush=True)
{call}
"""


@pytest.mark.parametrize(
    "call",
    [
        'servescope.simulate({"workload.duration_s": 400_000, "workload.rate_rps": 2})',
        'servescope.sweep({"workload.duration_s": 300}, {"workload.rate_rps": "0.5:3:2000"}, "ttft_s.mean", out=sys.argv[1])',
        'servescope.compare({"workload.duration_s": 300}, seeds=9000)',
    ],
    ids=["simulate", "sweep", "compare"],
)
def test_ctrl_c_ends_a_call_and_keeps_what_is_finished(call: str, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    words = [sys.executable, "-c", textwrap.dedent(LONG).format(call=call), str(out)]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    until = time.monotonic() + 60
    while "sweep" in call and time.monotonic() < until and (not out.exists() or out.read_bytes().count(b"\n") < 3):
        time.sleep(0.05)
    time.sleep(0.3)
    assert child.poll() is None, "the call had ended before"
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=60)
    assert child.returncode != 0 and "KeyboardInterrupt" in told
    if "sweep" in call:
        assert 3 <= out.read_bytes().count(b"\n") < 2000 and out.read_bytes().endswith(b"\n")
