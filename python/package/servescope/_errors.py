"""What is wrong with an input, as one exception."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Failure(NamedTuple):
    """One thing that is wrong."""

    code: str
    """Its kind, such as `out_of_range`."""
    path: str
    """The parameter's path, or the file's name, or ""."""
    message: str
    """In English, with the place, the bound and the value."""
    params: dict[str, float | str]
    """The numbers and texts of the message, such as `value`, `min` and `max`."""


class ServescopeError(Exception):
    """An input that cannot be simulated. `code`, `path`, `message` and `params` are those of the first of its `failures`."""

    failures: list[Failure]

    def __init__(self, failures: Sequence[tuple[str, str, str, dict[str, float | str]]]) -> None:
        self.failures = [Failure(*failure) for failure in failures]
        # What an exception is made of again, in another process.
        super().__init__(self.failures)

    def __str__(self) -> str:
        return "; ".join(failure.message for failure in self.failures)

    @property
    def code(self) -> str:
        return self.failures[0].code

    @property
    def path(self) -> str:
        return self.failures[0].path

    @property
    def message(self) -> str:
        return self.failures[0].message

    @property
    def params(self) -> dict[str, float | str]:
        return self.failures[0].params
