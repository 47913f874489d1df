"""The exceptions of ppsim."""

from typing import Any, Iterable, NamedTuple, Optional


class Problem(NamedTuple):
    """One problem: where it is, what it is (with the value found), and how to fix it."""

    where: str
    what: str
    hint: str
    field: Optional[str] = None  # the keyword that it is about


class Error(ValueError):
    """An error that the caller can fix. `problems` holds all problems found; `field`, `what` and `hint` are those of the
    first. `exit_code` is the program's exit status for it: 2 bad input, 3 the answer is no (a deadlock, nothing
    fits), 1 a failure (a file that cannot be written)."""

    def __init__(self, problems: Iterable[Iterable[Any]], exit_code: int = 2) -> None:
        self.problems = [Problem(*problem) for problem in problems]
        self.exit_code = exit_code
        super().__init__("\n".join(self._line(problem) for problem in self.problems))

    @staticmethod
    def _line(problem: Problem) -> str:
        hint = f" ({problem.hint})" if problem.hint else ""
        return f"{problem.where}: {problem.what}{hint}"

    @property
    def field(self) -> Optional[str]:
        return self.problems[0].field if self.problems else None

    @property
    def what(self) -> str:
        return self.problems[0].what if self.problems else ""

    @property
    def hint(self) -> str:
        return self.problems[0].hint if self.problems else ""

    def __reduce__(self) -> Any:
        return type(self), ([tuple(problem) for problem in self.problems], self.exit_code)


class InternalError(RuntimeError):
    """A bug in ppsim."""
