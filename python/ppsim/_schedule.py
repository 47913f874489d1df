"""Orders of tasks as lists."""

import csv
import io
import os
from typing import Iterable


class Schedule:
    """An order: a list of tasks per stage, in the notation of PyTorch's pipelining CSV. "2B1" is the backward (F forward, B
    backward, I and W its halves for inputs and weights) of chunk 2 for microbatch 1. In "B1" the chunk number is the row
    number. All functions that take a schedule take a Schedule."""

    def __init__(self, rows: Iterable[Iterable[str]]) -> None:
        self.rows = [list(row) for row in rows]

    @classmethod
    def from_lists(cls, rows: Iterable[Iterable[str]]) -> "Schedule":
        """From a list per stage."""
        return cls(rows)

    @classmethod
    def from_csv(cls, source: "str | os.PathLike[str]") -> "Schedule":
        """From a file (a path), or from its text (anything with a line break)."""
        text = source if isinstance(source, str) and "\n" in source else None
        if text is None:
            with open(os.fspath(source), newline="") as file:
                text = file.read()
        return cls([[cell.strip() for cell in row if cell.strip()] for row in csv.reader(io.StringIO(text))])

    @property
    def stages(self) -> int:
        """Number of stages."""
        return len(self.rows)

    def to_csv(self) -> str:
        """The order as PyTorch's pipelining CSV, each task with its chunk."""
        return "".join(",".join(self._cell(cell, stage) for cell in row) + "\n" for stage, row in enumerate(self.rows))

    @staticmethod
    def _cell(cell: str, stage: int) -> str:
        return f"{stage}{cell}" if cell[:1].isupper() else cell

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schedule) and self.to_csv() == other.to_csv()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<ppsim.Schedule: {self.stages} stages, {sum(map(len, self.rows))} cells>"
