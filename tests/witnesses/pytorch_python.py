"""pytorch_python.py PART...: ppsim.torch held against PyTorch itself; python.sh installs both.

train     orders made in Python, which load_schedule() loads and a process for each of 4 stages trains: losses and gradients of every
          parameter against one process
read      from_schedule() of PyTorch's classes, and to_actions(): ppsim's orders, with the sends and receives that PyTorch placed
measure   measure() of PipelineStages gives times that simulate() takes
wrong     trains an order that sends microbatches astray as if it were right: this one fails, or the others say nothing

Exit status: 0 all as ppsim says, 1 something is not.
"""

import collections
import os
import sys
import tempfile

import ppsim
import ppsim.torch
import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, schedules

from pytorch import CLASSES, Recorder, chunk, outcome, report

STAGES, MB = 4, 8
SHAPE = {"stages": STAGES, "mb": MB}
Order = collections.namedtuple("Order", "name given rows")  # what load_schedule() is given, and its cells


def orders():
    def order(name, given):
        return Order(name, given, ppsim.Schedule.from_csv(ppsim.torch.to_csv(given)).rows)

    lists = ppsim.simulate(**SHAPE).order
    yield order("1f1b as lists", lists)
    for options in ({"schedule": "interleaved", "vpp": 2}, {"schedule": "zb-h1"}, {"schedule": "zb-v"}, {"schedule": "dualpipe-v"},
                    {"schedule": "zb-interleaved", "vpp": 2}, {"schedule": "hanayo", "vpp": 2}):  # fmt: skip
        yield order(f"{options['schedule']} as a run", ppsim.simulate(**SHAPE, **options))
    last_first = [[f"F{i}" for i in range(MB)] + [f"B{i}" for i in reversed(range(MB))] for _ in range(STAGES)]
    yield order("by hand", ppsim.Schedule.from_lists(last_first))
    for lowering in ({}, {"lowering": "edge"}):
        yield order(f"placed {lowering.get('lowering', '')}", ppsim.place(schedule=lists, comm="1ms", **lowering).schedule)
    for options in ({"activation_limit": 4}, {"vpp": 2, "placement": "v", "activation_limit": 8}):
        yield order(f"synthesized {options.get('placement', '')}", ppsim.synthesize(**SHAPE, comm="1ms", effort=1, **options).schedule)


def load(stages, order, mb, loss):
    return ppsim.torch.load_schedule(stages, order.given, loss_fn=loss)


def trained(tried):
    totals = {"orders": 0, "differ": 0}
    for order in tried:
        became = outcome(order, STAGES, MB, load=load)
        print(f"{order.name:24} {sum(map(len, order.rows)):4} actions: {became}", flush=True)
        totals["orders"] += 1
        totals["differ"] += became != "runs"
    return totals


def train():
    return report("train", trained(orders()))


def wrong():
    """Stage 0 sends microbatch 1 before 0: stage 1 takes it for 0."""
    rows = ppsim.Schedule.from_csv(ppsim.torch.to_csv(ppsim.simulate(**SHAPE))).rows
    rows[0].remove("0SEND_F0")
    rows[0].insert(rows[0].index("0SEND_F1") + 1, "0SEND_F0")
    return report("wrong", trained([Order("sent astray", ppsim.Schedule.from_lists(rows), rows)]))


def read():
    totals = {"classes": 0, "actions": 0, "differ": 0}
    for schedule, name in CLASSES.items():
        kind = getattr(schedules, name)
        several = issubclass(kind, schedules.PipelineScheduleMulti)
        options = {"vpp": 2} if schedule in ("interleaved", "looped-bfs", "zb-interleaved") else {}
        run = ppsim.simulate(**SHAPE, schedule=schedule, **options)
        if several:
            made = kind([Recorder(i * STAGES, 2 * STAGES, STAGES) for i in range(2)], MB, loss_fn=len)
            expected = ppsim.Schedule.from_csv(ppsim.torch.to_csv(run))
            as_there = ppsim.torch.to_actions(run) == made.pipeline_order_with_comms
        else:
            made, expected, as_there = kind(Recorder(0, STAGES, STAGES), MB, loss_fn=len), ppsim.Schedule(run.order), True
        back = ppsim.torch.from_schedule(made)
        equal = back == expected and as_there and ppsim.simulate(schedule=back).order == run.order
        totals["classes"] += 1
        totals["actions"] += sum(map(len, back.rows))
        totals["differ"] += not equal
        print(f"{name:30} {schedule:15} {'as here' if equal else 'differs'}", flush=True)
    return report("read", totals)


def measure():
    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("gloo", f"file://{folder}/rendezvous", rank=0, world_size=1)
        stages = [PipelineStage(chunk(i, 256), i, STAGES, torch.device("cpu")) for i in range(STAGES)]
        times = [ppsim.torch.measure(stage, torch.randn(128, 256).double(), repeats=20) for stage in stages]
        dist.destroy_process_group()
    run = ppsim.simulate(**SHAPE, schedule="zb-h1", **ppsim.torch.costs(times))
    for time in times:
        print(time)
    print(f"a step of zb-h1 with these: {run.step_time_ns} ns")
    right = all(min(one.forward_ns, one.backward_ns, one.weight_grad_ns) > 0 and one.input_grad_ns + one.weight_grad_ns == one.backward_ns
                for one in times) and [one.input_grad_ns > 0 for one in times] == [False, True, True, True]  # fmt: skip
    # The ideal of the slowest stage below, all passes one after the other above
    right = right and MB * max(one.forward_ns + one.backward_ns for one in times) <= run.step_time_ns
    right = right and run.step_time_ns <= MB * sum(one.forward_ns + one.backward_ns for one in times)
    return report("measure", {"stages": len(times), "differ": int(not right)})


if __name__ == "__main__":
    results = [{"train": train, "read": read, "measure": measure, "wrong": wrong}[part]() for part in sys.argv[1:]]
    sys.exit(0 if all(results) else 1)
