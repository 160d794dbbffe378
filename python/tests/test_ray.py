"""The driver on a local cluster of two nodes: a worker is killed, a node is lost, the driver is killed and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import servescope
from conftest import ROOT, Terminal

ray = pytest.importorskip("ray", reason="requirements.txt names it")

DRIVER = ROOT / "python/servescope_ray.py"
LONGEST_S = 240
RUNS = 160
# Without reports to anyone, and with the driver on the loopback too: Ray takes the machine's outer address where clusters of
# several machines are enabled.
SILENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Two nodes of one core; the driver is on the first."""
    for name, value in SILENT.items():
        monkeypatch.setenv(name, value)
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "object_store_memory": 100 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    try:
        cluster.add_node(**node)
        cluster.wait_for_nodes()
        yield cluster
    finally:
        cluster.shutdown()


@pytest.fixture
def plan(terminal: Terminal, tmp_path: Path) -> tuple[Path, bytes]:
    """A plan, and what one machine makes of it."""
    file, whole = tmp_path / "plan.jsonl", tmp_path / "whole.jsonl"
    over = ["--over", "workload.rate_rps=0.5:3:40", "--over", "scheduler.order=fcfs,lifo", "--seeds", RUNS // 80]
    terminal("sweep", "--set", "workload.duration_s=3000", *over, "--metric", "ttft_s.p99,tbt_s.p99", "--plan", file)
    terminal("sweep", "--points", file, "--out", whole)
    return file, whole.read_bytes()


def started(cluster: Any, plan: Path, out: Path) -> subprocess.Popen[str]:
    words = [sys.executable, str(DRIVER), str(plan), "--out", str(out), "--address", cluster.address]
    return subprocess.Popen(words, stderr=subprocess.PIPE, text=True)


def written(out: Path) -> int:
    return out.read_bytes().count(b"\n") if out.exists() else 0


def until(condition: Callable[[], Any], driver: subprocess.Popen[str]) -> Any:
    """Waits for a condition while the driver works."""
    end = time.monotonic() + LONGEST_S
    while time.monotonic() < end:
        if met := condition():
            return met
        assert driver.poll() is None, driver.communicate()[1]
        time.sleep(0.02)
    raise AssertionError("the driver makes no progress")


def parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def is_of(pid: int, ancestors: set[int]) -> bool:
    while pid > 1:
        if pid in ancestors:
            return True
        pid = parent(pid)
    return False


def busy_workers(nodes: list[Any]) -> list[int]:
    """The workers of these nodes that run a task of the driver."""
    raylets = {one.process.pid for node in nodes for one in node.all_processes["raylet"]}

    def is_busy(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::run") and is_of(pid, raylets)
        except OSError:
            return False

    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if is_busy(pid)]


def test_nothing_is_lost_and_nothing_is_there_twice(cluster: Any, plan: tuple[Path, bytes], tmp_path: Path) -> None:
    file, whole = plan
    out = tmp_path / "out.jsonl"
    driver = started(cluster, file, out)
    until(lambda: written(out) >= RUNS // 8, driver)
    second = next(iter(cluster.worker_nodes))
    victim = until(lambda: busy_workers([second]), driver)[0]
    os.kill(victim, signal.SIGKILL)
    at_kill = written(out)
    until(lambda: written(out) >= at_kill + RUNS // 8, driver)
    assert victim not in busy_workers([second]), "the worker was killed"

    until(lambda: busy_workers([second]), driver)
    at_loss = written(out)
    cluster.remove_node(second, allow_graceful=False)
    until(lambda: written(out) >= at_loss + RUNS // 8, driver)

    driver.send_signal(signal.SIGKILL)
    driver.communicate(timeout=LONGEST_S)
    left = out.read_bytes()
    written_before = left.count(b"\n")
    assert at_kill < at_loss < written_before < RUNS, "each was lost in the middle"
    # As a driver leaves it that is ended while it writes.
    out.write_bytes(left + left.splitlines()[0][:50])

    driver = started(cluster, file, out)
    _, told = driver.communicate(timeout=LONGEST_S)
    assert driver.returncode == 0, told
    assert f"{written_before} of {RUNS} runs are there already" in told and "cut off" in told
    assert out.read_bytes() == whole


def test_bad_input_and_a_missing_cluster_are_told(tmp_path: Path) -> None:
    def told(*words: object) -> tuple[int, str]:
        command = [sys.executable, str(DRIVER), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, env={**os.environ, **SILENT}, check=False)
        return done.returncode, done.stderr

    out = tmp_path / "out.jsonl"
    code, text = told(tmp_path / "absent.jsonl", "--out", out)
    assert code == 2 and "absent.jsonl" in text
    plan = tmp_path / "plan.jsonl"
    plan.write_text("{}\n")
    code, text = told(plan, "--out", out)
    assert code == 2 and "no plan of a sweep" in text
    plan.write_text(servescope.plan(None, {"workload.rate_rps": [1, 2]}, "ttft_s.mean").text())
    code, text = told(plan, "--out", out, "--batch", 0)
    assert code == 2 and "--batch: 0 is not between" in text
    assert not out.exists()
