"""Several threads of Python: runs go on beside each other, and each gives what it gives alone."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import servescope

SCENARIOS = [{"seed": seed, "workload.duration_s": 120} for seed in range(8)]


def test_runs_of_several_threads_are_those_of_one() -> None:
    alone = [servescope.simulate(scenario).summary.text for scenario in SCENARIOS]
    with ThreadPoolExecutor(4) as pool:
        beside = list(pool.map(lambda scenario: servescope.simulate(scenario).summary.text, SCENARIOS))
    assert beside == alone and len(set(alone)) == len(alone)


def test_sweeps_and_comparisons_may_run_in_threads_of_their_own() -> None:
    def swept(_: int) -> str:
        return servescope.sweep({"workload.duration_s": 60}, {"workload.rate_rps": [1, 2, 3]}, "ttft_s.mean", threads=2).lines

    def compared(_: int) -> str:
        return servescope.compare({"workload.duration_s": 60}, seeds=3, threads=2).text

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(swept, range(4)))) == 1
        assert len(set(pool.map(compared, range(4)))) == 1


def test_python_goes_on_while_a_run_is_simulated() -> None:
    """The run is so long that a thread which had to wait for its end would count nothing beside it."""
    is_done = threading.Event()
    counted = 0

    def simulated() -> None:
        servescope.simulate({"workload.duration_s": 20_000, "workload.rate_rps": 2})
        is_done.set()

    thread = threading.Thread(target=simulated)
    thread.start()
    while not is_done.is_set():
        counted += 1
    thread.join()
    assert counted > 1000
