"""Answers: documents as the terminal prints them, and columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow


class Document(dict[str, Any]):
    """A JSON document as a dict; `text` is the very text that the terminal prints with `--json`."""

    text: str
    notes: list[str]
    """What the terminal tells on standard error."""

    def __init__(self, text: str, notes: list[str] | None = None) -> None:
        super().__init__(json.loads(text))
        self.text = text
        self.notes = notes or []

    def __reduce__(self) -> tuple[type[Document], tuple[str, list[str]]]:
        return (Document, (self.text, self.notes))


class Requests(Mapping[str, "npt.NDArray[Any]"]):
    """What became of every request: the columns of `requests.csv` as NumPy arrays, in the order of the ids.

    Ids, tokens and counts are int64; seconds are float64, NaN where a request has none; outcomes are texts.
    """

    def __init__(self, columns: dict[str, npt.NDArray[Any]]) -> None:
        self._columns = columns

    @classmethod
    def _of(cls, columns: list[tuple[str, str, bytes, list[str]]]) -> Requests:
        def array(kind: str, content: bytes, names: list[str]) -> npt.NDArray[Any]:
            if kind == "name":
                return np.array(names, dtype=np.str_)[np.frombuffer(content, dtype=np.uint8)]
            return np.frombuffer(content, dtype=np.dtype(kind))

        return cls({name: array(kind, content, names) for name, kind, content, names in columns})

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def count(self) -> int:
        """How many requests."""
        return len(self._columns["id"])

    def to_arrow(self) -> pyarrow.Table:
        """The columns as a table of Arrow, with null where a request has no time. Needs `pip install servescope[arrow]`."""
        import pyarrow as pa

        def column(values: npt.NDArray[Any]) -> Any:
            return pa.array(values.tolist() if values.dtype.kind == "U" else values, from_pandas=True)

        return pa.table({name: column(values) for name, values in self._columns.items()})


class Simulation(NamedTuple):
    """One run."""

    summary: Document
    requests: Requests


@dataclass(frozen=True)
class SweepResult:
    """A finished sweep."""

    document: Document
    """What `servescope sweep --json` prints: the axes, the metrics, and each point."""
    lines: str
    """What `servescope sweep --out` writes: a line of JSON for each run."""

    @property
    def notes(self) -> list[str]:
        return self.document.notes

    @property
    def points(self) -> list[dict[str, Any]]:
        """Each point with mean, interval and number of seeds of each metric."""
        points: list[dict[str, Any]] = self.document["points"]
        return points

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """A value a point: each parameter, and of each metric its mean (`NAME`) and the ends of its 95 % interval (`NAME.low`,
        `NAME.high`), NaN where there is none."""
        columns: dict[str, npt.NDArray[Any]] = {}
        for axis in self.document["over"]:
            path = axis["path"]
            columns[path] = np.array([_scalar(point["point"][path]) for point in self.points])
        for metric in self.document["metrics"]:
            for end, key in (("", "mean"), (".low", "low"), (".high", "high")):
                cells = [point["metrics"][metric][key] for point in self.points]
                columns[metric + end] = np.array([np.nan if x is None else x for x in cells], dtype=np.float64)
        return columns


def _scalar(value: Any) -> Any:
    return ",".join(map(str, value)) if isinstance(value, list) else value
