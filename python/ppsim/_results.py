"""Results of commands: the program's JSON documents (schema 1, docs/formats.md), with displays for notebooks and pandas."""

import csv
import html
import json
import shlex
from typing import Any, Iterable, Mapping, Optional, Sequence, TypeVar, Union

from ppsim import _core
from ppsim._errors import Problem
from ppsim._schedule import Schedule


Kind = TypeVar("Kind", bound="Result")


class Result:
    """A result: to_dict() holds all of it, str() is its report."""

    def __init__(self, answer: tuple[Any, ...], options: Mapping[str, Any]) -> None:
        self.exit_code, self._texts, self.notes, problems = answer
        self.problems = [Problem(*problem) for problem in problems]
        self._options = options
        self._read: Optional[dict[str, Any]] = None

    def to_dict(self) -> dict[str, Any]:
        """The program's --json document as a dict."""
        told: dict[str, Any] = json.loads(self.json())
        return told

    def json(self) -> str:
        """The same document as text."""
        return str(self._texts["json"])

    @property
    def _told(self) -> dict[str, Any]:
        """to_dict(), read once."""
        if self._read is None:
            self._read = self.to_dict()
        return self._read

    def __str__(self) -> str:
        return str(self._texts["-"])

    def __repr__(self) -> str:
        said = str(self).strip().split("\n", 1)[0]
        return f"<ppsim.{type(self).__name__}{': ' if said else ''}{said}>"


def ask(kind: type[Kind], command: str, options: Mapping[str, Any], arguments: Iterable[Any] = (),
        outputs: Iterable[str] = ("json",)) -> Kind:
    """Run a command; the result keeps `outputs`. If Ctrl-C ends a search, the exception's `result` is the best so far."""
    try:
        return kind(_core.run_command(command, list(arguments), list(outputs), dict(options)), options)
    except BaseException as raised:
        found = getattr(raised, "__dict__", {}).pop("_ppsim_answer", None)
        if found is not None:
            setattr(raised, "result", kind(found, options))
        raise


def as_options(words: Iterable[str]) -> dict[str, Any]:
    """The keywords for a command line: ["--vpp", "2"] gives {"vpp": "2"}."""
    options = {}
    words = list(words)
    while words:
        name = words.pop(0)[2:].replace("-", "_")
        options[name] = words.pop(0) if words and not words[0].startswith("--") else True
    return options


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return html.escape(f"{value:.4g}" if isinstance(value, float) else str(value))


def html_table(rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> str:
    """Rows, given as dicts, as an HTML table."""
    head = "".join(f"<th>{_cell(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{_cell(row.get(name))}</td>" for name in columns) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text_cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "-" if value is None else str(value)


def text_table(rows: Sequence[Mapping[str, Any]], most: int = 60) -> str:
    """Rows, dicts, as lines of text: numbers at the right of their column, and not more than so many rows."""
    if not rows:
        return "no rows"
    shown = rows[:most]
    columns = []
    for name in rows[0]:
        cells = [_text_cell(row.get(name)) for row in shown]
        width = max(map(len, [name, *cells]))
        numbers = any(isinstance(row.get(name), (int, float)) for row in shown)
        columns.append([cell.rjust(width) if numbers else cell.ljust(width) for cell in [name, *cells]])
    lines = ["  ".join(cells).rstrip() for cells in zip(*columns)]
    if len(rows) > most:
        lines.append(f"and {len(rows) - most} more rows")
    return "\n".join(lines)


class Table(Result):
    """A result in rows: pandas.DataFrame(result.rows)."""

    columns: tuple[str, ...] = ()  # that a notebook shows

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A list of dicts."""
        return list(self._told["rows"])

    def __len__(self) -> int:
        return len(self.rows)

    def _repr_html_(self) -> str:
        return html_table(self.rows, self.columns or list(next(iter(self.rows), {})))


class PlottedResult(Result):
    """A result with a plot."""

    def svg(self) -> str:
        """The plot as SVG text."""
        return str(self._texts["svg"])

    def _repr_svg_(self) -> str:
        return self.svg()


class Comparison(Table):
    """Schedules, the fastest first."""

    columns = ("name", "vpp", "step_time_ns", "bubble_ratio", "peak_bytes", "peak_stage_activations", "fits",
               "asynchronous")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A dict per schedule, the fastest first: name, stages, microbatches, vpp, every metric (times in ns), peak_bytes,
        peak_stage_activations, fits, asynchronous (gradients meet newer weights than they were computed with, so it is
        never the one to take), transfers, demands (a dict) and per_stage (a list)."""
        return [{**row, "asynchronous": row["demands"]["asynchronous"]} for row in self._told["contenders"]]

    @property
    def best(self) -> Optional[str]:
        """The name of the recommended schedule; None if none fits."""
        best: Optional[str] = self._told["recommendation"]["best"]
        return best

    @property
    def recommendation(self) -> str:
        """The recommendation in words."""
        return _core.in_python(self._told["recommendation"]["text"])

    def options(self, name: str) -> dict[str, Any]:
        """Keywords for simulate() that run the schedule of this name in `rows`."""
        flags = {row["name"]: row["flags"] for row in self.rows}
        if name not in flags:
            raise KeyError(f"{name}: not one of {', '.join(flags)}")
        known = {name for name, _ in _core.options("simulate")} - {"json", "svg", "vpp"}
        common = {key: value for key, value in self._options.items() if key in known}
        return {**common, **as_options(shlex.split(flags[name]))}

    def run(self, name: Optional[str] = None) -> _core.Run:
        """The Run of the schedule of this name; by default of the recommended one."""
        name = self.best if name is None else name
        if name is None:
            raise ValueError("nothing fits: name the schedule to run")
        return _core.simulate(**self.options(name))

    def svg(self) -> str:
        """The charts of the fastest schedules on one time axis, as SVG text. Simulates them again."""
        options = {**self._options, "json": None, "svg": None}
        return ask(PlottedResult, "compare", options, outputs=("svg",)).svg()


class Variation(PlottedResult):
    """Where the best schedule changes. `rows`: a dict per schedule and value."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A dict per schedule and value: the option that varies (in its unit: ns, bytes, a count), name, asynchronous,
        step_time_ns, microbatches, peak_bytes, fits. Values at which a schedule does not run are left out."""
        told = self._told
        option = told["vary"]["option"].replace("-", "_")
        return [{option: point, "name": line["name"], "asynchronous": line["asynchronous"], **sample}
                for line in told["lines"]
                for point, sample in zip(told["points"], line["samples"]) if sample is not None]


class Sweep(Table):
    """Rows of figures: the values of the grid, step_time_ns, bubble_ratio, peak_bytes, fits, error."""

    def __init__(self, answer: tuple[Any, ...], options: Mapping[str, Any]) -> None:
        super().__init__(answer, options)
        lines = self._texts.get("table")
        if lines is not None:
            self._rows = [json.loads(line) for line in lines.splitlines()]
        else:
            self._rows = _rows_of_file(options["table"])
        self._rows = [{name.replace("-", "_"): value for name, value in row.items()} for row in self._rows]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A list of dicts; the first option of the grid varies slowest."""
        return self._rows

    def json(self) -> str:
        """The rows as JSON text."""
        return json.dumps({"rows": self._rows})

    def __str__(self) -> str:
        return text_table(self._rows)

    def __repr__(self) -> str:
        return f"<ppsim.Sweep: {len(self._rows)} rows>"


def _rows_of_file(path: Any) -> list[dict[str, Any]]:
    with open(path, newline="") as file:
        if str(path).endswith(".jsonl"):
            return [json.loads(line) for line in file]
        return list(csv.DictReader(file))


class Plan(Table):
    """Configurations in order of rank."""

    columns = ("flags", "step_time_ns", "mfu", "bubble_ratio", "peak_bytes")

    def options(self, row: Union[int, Mapping[str, Any]] = 0) -> dict[str, Any]:
        """Keywords for simulate() that run a row: its position in `rows`, from 0, or the row itself."""
        return as_options((self.rows[row] if isinstance(row, int) else row)["arguments"])

    def run(self, row: Union[int, Mapping[str, Any]] = 0) -> _core.Run:
        """The Run of a row: its position in `rows`, from 0, or the row itself."""
        return _core.simulate(**self.options(row))


class _Ordered(Result):
    """A result that holds an order."""

    _order = "csv"

    @property
    def schedule(self) -> Schedule:
        """The order found, as a Schedule."""
        return Schedule.from_csv(self._texts[self._order])


class Synthesis(_Ordered, PlottedResult):
    """The best order found, and a bound that no order beats (to_dict(): makespan_ns, lower_bound_ns, gap)."""

    @property
    def makespan_ns(self) -> int:
        """Makespan of the order, in ns."""
        return int(self._told["makespan_ns"])

    @property
    def lower_bound_ns(self) -> int:
        """No order of this placement within this memory is shorter than this, in ns."""
        return int(self._told["lower_bound_ns"])


class Front(PlottedResult):
    """The best orders along a range."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A dict per value and placement."""
        return [{"value": point["value"], **order} for point in self._told["front"] for order in
                point.get("placements", [])]


class Placement(_Ordered):
    """A schedule with new places for its sends and receives (to_dict(): before_ns, after_ns, hung, moved, stalls)."""

    _order = "csv-comms"


class Check(Result):
    """A verdict: true if the order runs; otherwise `problems` says why not."""

    def __bool__(self) -> bool:
        return bool(self.exit_code == 0)

    def __str__(self) -> str:
        return str(self._texts["-"]) or "\n".join(f"{p.where}: {p.what} ({p.hint})" for p in self.problems)


class Explanation(PlottedResult):
    """Where the time of a measured run goes."""

    @property
    def findings(self) -> list[dict[str, Any]]:
        """A dict per cause, the largest first."""
        return list(self._told["findings"])


class Costs(Result):
    """Costs of the blocks of a model: to_dict()."""
