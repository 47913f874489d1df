"""ppsim: pipeline-parallel training schedules, simulated, explained, compared.

Each function is a command of the program, and its keywords are the long options with "_" for "-": the equivalent of
``ppsim simulate --stages 4 --mb 8 --memory-limit 40GiB`` is ``ppsim.simulate(stages=4, mb=8, memory_limit="40GiB")``.
A value is text as on the command line, a number, a time (datetime.timedelta, numpy.timedelta64), a path, a list of these,
or True for a flag; None means not given. In results, times are whole nanoseconds, sizes bytes, and shares 0 to 1.

    >>> run = ppsim.simulate(stages=4, mb=8, forward="10ms", backward="20ms")
    >>> run.step_time_ns, run.tasks["start_ns"].max()

All raise ppsim.Error (a ValueError with .field, .what, .hint, .exit_code) if options are wrong or contradict each other,
and TypeError or ValueError for values that no option takes. They release the interpreter lock, and Ctrl-C stops them.
"""

import textwrap

from ppsim import _core
from ppsim._core import Run
from ppsim._core import __version__ as __version__
from ppsim._errors import Error, InternalError, Problem
from ppsim._results import (Check, Comparison, Costs, Explanation, Front, Placement, Plan, Sweep, Synthesis, Variation,
                            ask)
from ppsim._schedule import Schedule

__all__ = [
    "Check", "Comparison", "Costs", "Error", "Explanation", "Front", "InternalError", "Placement", "Plan", "Problem", "Run",
    "Schedule", "Sweep", "Synthesis", "Variation", "check", "compare", "costs", "explain", "place", "plan", "simulate",
    "sweep", "synthesize", "vary",
]


def simulate(**options):
    """Simulate one step: how long it takes, where the bubble is and why, whether the memory fits. Returns a Run.

    schedule : text, lists of tasks or Schedule
        A name ("1f1b", "zb-v"), or an order: a list per stage of "0F0" (chunk, pass, microbatch) or "F0" (the chunk
        number is then the row number).
    """
    return _core.simulate(**options)


def compare(**options):
    """Compare schedules for the same work: the fastest first, and which one to use. Returns a Comparison."""
    return ask(Comparison, "compare", options)


def vary(axis, **options):
    """Find where the best schedule changes as one option runs over a range. Returns a Variation.

    axis : text
        "comm=0..2ms", "mb=8..256:x2", "tensor_parallel=1,2,4".
    """
    return ask(Variation, "compare", {"vary": axis, **options}, outputs=("json", "svg"))


def sweep(grid, **options):
    """Compute a row of figures for every combination of several options' values. Returns a Sweep.

    grid : dict
        Names of options with their values: {"mb": [8, 16, 32], "schedule": "all", "comm": "0..2ms:+500us"}.
    """
    return ask(Sweep, "sweep", {"vary": grid, **options}, outputs=() if options.get("table") else ("table",))


def synthesize(**options):
    """Search for the best order for these costs within this memory, and prove how good it is. Returns a Synthesis; with
    vary (text: "memory_limit=20GiB..44GiB") a Front."""
    if options.get("vary") is not None:
        return ask(Front, "synthesize", options, outputs=("json", "svg"))
    return ask(Synthesis, "synthesize", options, outputs=("json", "csv", "svg"))


def plan(**options):
    """Find the degrees of parallelism, schedule and recomputation that a cluster should train with. Returns a Plan."""
    return ask(Plan, "plan", options)


def check(schedule, **options):
    """Check whether an order is valid, and under which transfer models it deadlocks. Returns a Check, which is true if
    the order runs. Raises Error if the order is malformed.

    schedule : path of a file, lists of tasks or Schedule
    """
    return ask(Check, "check", options, arguments=(schedule,))


def place(**options):
    """Move the sends and receives of a schedule to where they stall it least. Returns a Placement.

    schedule : text, lists of tasks or Schedule, as in simulate()
    """
    return ask(Placement, "place", options, outputs=("json", "csv-comms"))


def explain(*runs, **options):
    """Explain where the time of a measured run goes, and what each cause costs. Returns an Explanation.

    runs : paths
        A run file; several are the data-parallel replicas of one job.
    """
    return ask(Explanation, "explain", options, arguments=runs, outputs=("json", "svg"))


def costs(**options):
    """Compute what the blocks of a model cost on a device, from its shape. Returns Costs."""
    return ask(Costs, "costs", options)


def _document(function, command):
    function.__doc__ += "\n\n    Options\n    -------\n" + textwrap.indent(_core.options_help(command), "    ")


for _function, _command in ((simulate, "simulate"), (compare, "compare"), (vary, "compare"), (sweep, "sweep"),
                            (synthesize, "synthesize"), (plan, "plan"), (check, "check"), (place, "place"),
                            (explain, "explain"), (costs, "costs")):
    _document(_function, _command)
del _function, _command, textwrap
