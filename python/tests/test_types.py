"""The types are checked: those of the package itself, those of its native part, and the driver's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import servescope
from conftest import ROOT

SETTINGS = ROOT / "python/pyproject.toml"


def checked(*words: str) -> None:
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_and_what_uses_it_have_sound_types(tmp_path: Path) -> None:
    package = Path(servescope.__file__).parent
    assert (package / "py.typed").exists()
    used = [ROOT / "python/tests", ROOT / "python/servescope_ray.py"]
    cache = f"--cache-dir={tmp_path}"
    checked("mypy", f"--config-file={SETTINGS}", cache, "-p", "servescope")
    checked("mypy", f"--config-file={SETTINGS}", cache, *map(str, used))


def test_the_stub_is_that_of_the_native_part(tmp_path: Path) -> None:
    checked("mypy.stubtest", "servescope._servescope", f"--mypy-config-file={SETTINGS}")


def test_a_wrong_type_is_found(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import servescope\n\nnumber: int = servescope.simulate().summary\n")
    words = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path}", str(wrong)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1 and 'variable has type "int"' in done.stdout, done.stdout
