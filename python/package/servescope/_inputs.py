"""Scenarios, traces, profiles and lists as the functions of the package take them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Union

from ._servescope import Profile, Scenario, Trace

ScenarioInput = Union[None, Mapping[str, Any], str, "os.PathLike[str]", Scenario]
"""None for the default; nested or dotted parameters; a file, as a path or its name; an address of the page; or one that was read."""

TraceInput = Union[None, bytes, str, "os.PathLike[str]", Trace]
"""A file, as a path or its name; a file's bytes; or one that was read."""

ProfileInput = Union[None, str, "os.PathLike[str]", Profile]
"""A file that `servescope profile fit` wrote, as a path or its name; or one that was read."""

Settings = Mapping[str, Any]
"""Values by the paths of the parameters."""


def scenario_of(given: ScenarioInput, settings: Settings | None = None, profile: ProfileInput = None) -> Scenario:
    """The scenario, with settings and a profile on top."""
    scenario = _read(given)
    if settings:
        scenario = scenario.with_settings([(path, _text(value)) for path, value in settings.items()])
    loaded = profile_of(profile)
    return scenario if loaded is None else scenario.with_profile(loaded)


def _read(given: ScenarioInput) -> Scenario:
    if given is None:
        return Scenario()
    if isinstance(given, Scenario):
        return given
    if isinstance(given, Mapping):
        return Scenario.read("scenario", json.dumps(dict(given), default=_plain).encode())
    if isinstance(given, str) and (given.startswith("#") or "://" in given):
        return Scenario.link(given)
    path = os.fspath(given)
    return Scenario.read(path, Path(path).read_bytes())


def trace_of(given: TraceInput) -> Trace | None:
    """The trace that takes the place of generated requests."""
    if given is None or isinstance(given, Trace):
        return given
    if isinstance(given, bytes):
        return Trace("trace", given)
    path = Path(given)
    return Trace(path.name, path.read_bytes())


def profile_of(given: ProfileInput) -> Profile | None:
    """The profile that takes the place of the shipped ones."""
    if given is None or isinstance(given, Profile):
        return given
    path = os.fspath(given)
    return Profile(path, Path(path).read_text(encoding="utf-8"))


def axes_of(over: Mapping[str, Any] | Sequence[str]) -> list[str]:
    """Parameters with their values as the terminal's `--over` and `--grid` take them."""
    if isinstance(over, str):
        return [over]
    if not isinstance(over, Mapping):
        return list(over)
    return [f"{path}={_values(values)}" for path, values in over.items()]


def _values(values: Any) -> str:
    if isinstance(values, str) or not isinstance(values, Iterable):
        return _text(values)
    return ",".join(_text(value).replace(",", ";") for value in values)


def names_of(names: str | Iterable[str]) -> list[str]:
    """Names of numbers of the summary."""
    return [names] if isinstance(names, str) else list(names)


def _plain(value: Any) -> Any:
    """Scalars and arrays of NumPy as Python's own."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no value of a parameter")


def _text(value: Any) -> str:
    """A value as the terminal's `--set` takes it."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Iterable):
        return ",".join(_text(one) for one in value)
    raise TypeError(f"{type(value).__name__} is no value of a parameter")
