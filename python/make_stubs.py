"""make_stubs.py FOLDER: write the type stub of the package in FOLDER, with every option of every function."""

import importlib.util
import pathlib
import sys

HEAD = '''# Made by python/make_stubs.py from the program's table of options.
import datetime
import os
from typing import Any, Mapping, Optional, Sequence, Union

from ppsim._core import Run as Run
from ppsim._core import __version__ as __version__
from ppsim._errors import Error as Error
from ppsim._errors import InternalError as InternalError
from ppsim._errors import Problem as Problem
from ppsim._results import Check as Check
from ppsim._results import Comparison as Comparison
from ppsim._results import Costs as Costs
from ppsim._results import Explanation as Explanation
from ppsim._results import Front as Front
from ppsim._results import Placement as Placement
from ppsim._results import Plan as Plan
from ppsim._results import Sweep as Sweep
from ppsim._results import Synthesis as Synthesis
from ppsim._results import Variation as Variation
from ppsim._schedule import Schedule as Schedule

__all__: list[str]

_Path = Union[str, os.PathLike[str]]
_One = Union[str, int, float, bool, datetime.timedelta, os.PathLike[str]]
# What an option takes: one value or a list of them, an array of NumPy, for some a dict. None is as if it were not said.
_Value = Union[_One, Sequence[_One], Sequence[Sequence[_One]], Mapping[Any, Any], Any, None]
_Rows = Sequence[Sequence[str]]
'''

FUNCTIONS = [  # name, command, what comes before the options, result
    ("simulate", "simulate", "", "Run"),
    ("compare", "compare", "", "Comparison"),
    ("vary", "compare", "axis: str", "Variation"),
    ("sweep", "sweep", "grid: Mapping[str, Any]", "Sweep"),
    ("synthesize", "synthesize", "", "Union[Synthesis, Front]"),
    ("plan", "plan", "", "Plan"),
    ("check", "check", "schedule: Union[_Path, _Rows, Schedule]", "Check"),
    ("place", "place", "", "Placement"),
    ("explain", "explain", "*runs: _Path", "Explanation"),
    ("costs", "costs", "", "Costs"),
]


def kind_of(name, is_flag):
    if name == "schedule":
        return "Union[str, _Rows, Schedule, None]"
    return "Optional[bool]" if is_flag else "_Value"


def signature(function, first, options, result):
    taken = {first.split(":")[0].lstrip("*"), "vary" if function in ("vary", "sweep") else ""}
    lines = [f"    {name}: {kind_of(name, is_flag)} = ...," for name, is_flag in options if name not in taken]
    star = "" if first.startswith("*") else "    *,\n"
    first = f"    {first},\n" if first else ""
    return f"def {function}(\n{first}{star}" + "\n".join(lines) + f"\n) -> {result}: ...\n"


def main():
    package = pathlib.Path(sys.argv[1])
    core = next(package.glob("_core*.so"))
    spec = importlib.util.spec_from_file_location("_core", core)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    functions = [signature(name, first, module.options(command), result) for name, command, first, result in FUNCTIONS]
    (package / "__init__.pyi").write_text(HEAD + "\n" + "\n".join(functions))


main()
