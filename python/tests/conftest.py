"""What the tests have in common: the terminal, which answers the same questions."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
Terminal = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def program() -> str:
    """The terminal's program, as `cargo xtask test --only python` built it."""
    program = os.environ.get("SERVESCOPE_TERMINAL", "")
    assert Path(program).is_file(), "SERVESCOPE_TERMINAL names the terminal's program"
    return program


@pytest.fixture(scope="session")
def terminal(program: str) -> Terminal:
    """Runs the terminal to success."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        words = [program, *map(str, arguments)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        return done

    return run
