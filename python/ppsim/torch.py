"""Orders for torch.distributed.pipelining, and costs of its stages.

Functions import PyTorch only when they need it. Its names with a leading underscore (_Action, _PipelineScheduleRuntime)
are private to PyTorch; versions 2.6 and later have them.
"""

import importlib
import os
import statistics
import tempfile
import time
from typing import Any, Iterable, Mapping, NamedTuple, Optional, Sequence

from ppsim import _core
from ppsim._schedule import Schedule


def _schedules() -> Any:
    return importlib.import_module("torch.distributed.pipelining.schedules")


def _rows(order: Any) -> Any:
    return order.order if isinstance(order, _core.Run) else order


def to_csv(order: Any, lowering: str = "pytorch", pytorch_version: Optional[str] = None, **options: Any) -> str:
    """The text of the CSV that _load_csv(file, format="compute_comms") reads: every task, send and receive, and the actions
    on whole chunks.

    order : Run, Schedule, or lists of tasks; a Placement's schedule keeps its sends and receives
    lowering : what places the sends and receives of other orders ("ppsim list lowerings")
    pytorch_version : "2.6" for versions before 2.10; by default the version that can be imported, else 2.14
    options : other keywords of simulate(), such as times of tasks and transfers, if the lowering needs them
    """
    rows = _rows(order)
    has_own = any("SEND_" in cell for row in getattr(rows, "rows", rows) for cell in row)
    said = {**options, "schedule": rows, "pytorch_version": pytorch_version or _version()}
    if not has_own:
        said["lowering"] = lowering
    texts = _core.run_command("simulate", [], ["csv-comms"], said)[1]
    return str(texts["csv-comms"])


def _version() -> Optional[str]:
    try:
        return None if hasattr(_schedules(), "_add_reduce_grad") else "2.6"
    except ImportError:
        return None


def to_actions(order: Any, **options: Any) -> "dict[int, list[Any]]":
    """The list of actions (PyTorch's _Action) of each rank. Options are those of to_csv()."""
    action = _schedules()._Action
    rows = Schedule.from_csv(to_csv(order, **options)).rows
    return {rank: [action.from_str(cell) for cell in row] for rank, row in enumerate(rows)}


def load_schedule(stages: Sequence[Any], order: Any, n_microbatches: Optional[int] = None, loss_fn: Any = None,
                  runtime: Optional[Mapping[str, Any]] = None, **options: Any) -> Any:
    """A schedule object of torch.distributed.pipelining that runs the order: schedule.step(...) trains.

    stages : the PipelineStages of this rank, a list
    n_microbatches : by default the number in the order
    runtime : more arguments of _PipelineScheduleRuntime
    options : those of to_csv()
    """
    text = to_csv(order, **options)
    if n_microbatches is None:
        n_microbatches = microbatches_of(order)
    schedule = _schedules()._PipelineScheduleRuntime(list(stages), n_microbatches, loss_fn=loss_fn, **(runtime or {}))
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "order.csv")
        with open(file, "w") as csv:
            csv.write(text)
        schedule._load_csv(file, format="compute_comms")
    return schedule


def microbatches_of(order: Any) -> int:
    """The number of microbatches of an order."""
    return order.microbatches if isinstance(order, _core.Run) else _core.simulate(schedule=order).microbatches


_SINGLE = {"ScheduleGPipe": "gpipe", "Schedule1F1B": "1f1b"}  # what their lists of actions show is not what they run


def from_schedule(schedule: Any) -> Schedule:
    """The order of a schedule object. Objects with several stages per rank, and those of load_schedule(), hold their order;
    for ScheduleGPipe and Schedule1F1B the order follows from the name."""
    kind = type(schedule).__name__
    if kind in _SINGLE:
        run = _core.simulate(schedule=_SINGLE[kind], stages=schedule._num_stages, mb=schedule._n_microbatches)
        return Schedule(run.order)
    actions = getattr(schedule, "pipeline_order_with_comms", None) or getattr(schedule, "pipeline_order", None)
    if not actions:
        raise TypeError(f"{kind}: its order is not known; supported are schedules with several stages per rank, {' and '.join(_SINGLE)}")
    return Schedule([[str(action) for action in actions[rank] if action is not None] for rank in sorted(actions)])


class StageTimes(NamedTuple):
    """Times of the passes of a stage, in nanoseconds: the median of several."""

    forward_ns: int
    backward_ns: int  # whole
    input_grad_ns: Optional[int] = None  # its halves, where both are known
    weight_grad_ns: Optional[int] = None


def measure(stage: Any, *inputs: Any, repeats: int = 10, warmup: int = 3) -> StageTimes:
    """Measure how long a stage takes for a microbatch: forward, backward, and the halves of the backward.

    stage : a PipelineStage, or a module
    inputs : the input tensors of the stage for one microbatch

    A first stage (one that says so, or a module whose inputs cannot have gradients) needs no input gradients: PyTorch then
    computes nothing for I, and the whole backward as W.
    """
    torch = importlib.import_module("torch")
    module = getattr(stage, "submod", stage)
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    first = getattr(stage, "is_first", False)
    given = [one.detach().requires_grad_(one.is_floating_point() and not first) for one in inputs]
    sought = [one for one in given if one.requires_grad]

    def clock() -> int:
        if any(one.is_cuda for one in (*trained, *given)):
            torch.cuda.synchronize()
        return time.perf_counter_ns()

    def timed(wanted: Sequence[Any]) -> "tuple[int, int]":
        begin = clock()
        output = module(*given)
        middle = clock()
        if wanted:
            outputs = [one for one in (output if isinstance(output, (tuple, list)) else [output]) if one.requires_grad]
            torch.autograd.grad(outputs, wanted, [torch.ones_like(one) for one in outputs], allow_unused=True)
        return middle - begin, clock() - middle

    def median(times: Iterable[int]) -> int:
        return int(statistics.median(times))

    # By turns, so that a machine that gets slower does so for both
    both = [(timed([*sought, *trained]), timed(sought)) for _ in range(warmup + repeats)][warmup:]
    forward, backward = median(whole[0] for whole, _ in both), median(whole[1] for whole, _ in both)
    if sought and trained:
        input_grad = min(median(half[1] for _, half in both), backward)
    else:
        input_grad = backward if sought else 0
    return StageTimes(forward, backward, input_grad, backward - input_grad)


def costs(times: Iterable[StageTimes]) -> "dict[str, list[str]]":
    """Keywords for simulate() and similar functions from the times of each chunk, in order: ppsim.simulate(stages=4, mb=8,
    **costs(times)). They include the halves of the backward if every chunk has them."""
    times = list(times)
    said = {"forward": [f"{one.forward_ns}ns" for one in times]}
    if all(one.input_grad_ns is not None for one in times):
        said["input_grad"] = [f"{one.input_grad_ns}ns" for one in times]
        said["weight_grad"] = [f"{one.weight_grad_ns}ns" for one in times]
    else:
        said["backward"] = [f"{one.backward_ns}ns" for one in times]
    return said
