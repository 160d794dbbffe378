"""Runs the plan of a sweep on a Ray cluster.

    servescope sweep --over workload.rate_rps=0.5:3:100 --metric ttft_s.p99 --seeds 10 --plan plan.jsonl
    python servescope_ray.py plan.jsonl --out whole.jsonl --address auto

The finished file is byte for byte the one that a single machine writes with `servescope sweep --points plan.jsonl --out whole.jsonl`.
Only this driver writes it: a run is a line once it has come back, so a worker or a node that is lost costs the runs that it had not
handed over, which Ray starts again elsewhere. A driver that is ended goes on from its file when it is started again.

Exit status: 0 fine, 1 a run that failed, 2 bad usage or bad input.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ray
import servescope

# A task is started again this many times after its worker or its node was lost; what ends its worker every time ends the sweep.
RETRIES = 8
# Tasks on their way for each core of the cluster: one that runs, and one that waits beside it.
TASKS_PER_CORE = 2

_plans: dict[str, servescope.Plan] = {}


@ray.remote(num_cpus=1, max_retries=RETRIES)
def run(sweep: str, text: str, trace: bytes | None, profile: str | None, indices: list[int]) -> list[str]:
    """The lines of these runs. A worker reads the plan once."""
    plan = _plans.get(sweep)
    if plan is None:
        loaded = None if profile is None else servescope.Profile("profile", profile)
        plan = servescope.Plan.from_text(text, None if trace is None else servescope.Trace("trace", trace), loaded)
        _plans.clear()
        _plans[sweep] = plan
    return plan.run(indices, threads=1)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Runs the plan of a sweep on a Ray cluster.")
    parser.add_argument("plan", type=Path, help="the file that `servescope sweep --plan` wrote")
    parser.add_argument("--out", type=Path, required=True, help="the file of results; a sweep that finds it goes on where it ended")
    parser.add_argument("--address", help="of the cluster: HOST:PORT, or auto; without it a cluster of this machine is started")
    parser.add_argument("--trace", type=Path, help="the trace file that the plan was made with")
    parser.add_argument("--profile", type=Path, help="the profile that the plan was made with")
    parser.add_argument("--batch", type=int, default=1, help="runs of one task; more than 1 where a run takes milliseconds")
    chosen = parser.parse_args()
    if not 1 <= chosen.batch <= 10_000:
        parser.error(f"--batch: {chosen.batch} is not between 1 and 10000")
    return chosen


def batches(indices: list[int], size: int) -> Iterator[list[int]]:
    return (indices[start : start + size] for start in range(0, len(indices), size))


def cores() -> int:
    """The cores of the nodes that are alive."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def finish(plan: servescope.Plan, journal: servescope.Journal, shared: tuple[Any, ...], size: int) -> None:
    """Runs what the journal lacks; each result is written as it comes."""
    waiting = batches(journal.missing(), size)
    under_way: list[Any] = []
    while True:
        while len(under_way) < TASKS_PER_CORE * cores():
            indices = next(waiting, None)
            if indices is None:
                break
            under_way.append(run.remote(plan.sweep, *shared, indices))
        if not under_way:
            return
        done, under_way = ray.wait(under_way, num_returns=1)
        for lines in ray.get(done):
            for line in lines:
                journal.add(line)


def main() -> int:
    chosen = arguments()
    try:
        text = chosen.plan.read_text(encoding="utf-8")
        trace = chosen.trace.read_bytes() if chosen.trace else None
        profile = chosen.profile.read_text(encoding="utf-8") if chosen.profile else None
        plan = servescope.read_plan(chosen.plan, chosen.trace, chosen.profile)
        journal = servescope.Journal(os.fspath(chosen.out), plan)
    except (OSError, UnicodeDecodeError, servescope.ServescopeError) as error:
        print(f"servescope_ray: {error}", file=sys.stderr)
        return 2
    for note in plan.notes() + journal.notes:
        print(f"servescope_ray: note: {note}", file=sys.stderr)
    try:
        ray.init(address=chosen.address, include_dashboard=None if chosen.address else False, log_to_driver=False)
        # Kept by the driver's node, and fetched by each worker once.
        shared = (ray.put(text), ray.put(trace), ray.put(profile))
        finish(plan, journal, shared, chosen.batch)
        journal.finish()
    except (ConnectionError, servescope.ServescopeError, ray.exceptions.RayError) as error:
        print(f"servescope_ray: {error}", file=sys.stderr)
        return 1
    print(f"servescope_ray: {chosen.out}: {len(plan)} runs", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
