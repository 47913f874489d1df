"""pytorch.py FOLDER PART...: holds the orders that pytorch_orders.py has written into FOLDER against PyTorch.

lowering  where PyTorch's own functions put sends, receives and what is done with whole chunks: cell by cell
classes   the orders of PyTorch's schedule classes: cell by cell
train     orders loaded and trained by as many processes as there are stages: losses and gradients against one process
hang      orders whose sends and receives run one after the other on each communicator, with rendezvous, as NCCL runs
          them: they hang where 'ppsim check --p2p' says so, mix up data where it says that, and train elsewhere
profile   writes profiles of two steps into FOLDER/profiles

Exit status: 0 all as ppsim says, 1 something is not.
"""

import collections
import concurrent.futures
import csv
import gzip
import json
import logging
import multiprocessing
import os
import pathlib
import queue
import signal
import sys
import tempfile
import time
import types

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, schedules

OLD = not hasattr(schedules, "_add_reduce_grad")  # before 2.10
QUIET = 10  # seconds without any operation that ends: it hangs
WIDTH, ROWS = 16, 4  # of the tensors between chunks


def cells(file):
    """Rows of cells; empty ones, which are idle, left out."""
    with open(file, newline="") as text:
        return [[cell for cell in row if cell] for row in csv.reader(text)]


def rows_of(order):
    return order.rows if hasattr(order, "rows") else cells(order)


def leaves(row):
    """The passes of a row, those of pairs one by one."""
    actions = [schedules._Action.from_str(cell) for cell in row]
    return [leaf for a in actions for leaf in (getattr(a, "sub_actions", None) or (a,))]


def chunks_of(rows):
    """Which chunks each stage holds, and how many there are."""
    own = [sorted({leaf.stage_index for leaf in leaves(row)}) for row in rows]
    return own, 1 + max(map(max, own))


def compare(what, ours, theirs, totals):
    totals["orders"] += 1
    totals["cells"] += sum(len(row) for row in theirs)
    for stage, (our_row, their_row) in enumerate(zip(ours, theirs)):
        for at in range(max(len(our_row), len(their_row))):
            pair = [row[at] if at < len(row) else "nothing" for row in (our_row, their_row)]
            if pair[0] != pair[1]:
                totals["differ"] += 1
                print(f"differs: {what}, stage {stage}, cell {at}: {pair[0]} here, {pair[1]} there")
                return
    if len(ours) != len(theirs):
        totals["differ"] += 1
        print(f"differs: {what}: {len(ours)} stages here, {len(theirs)} there")


def report(part, totals):
    print(f"PyTorch {torch.__version__}: {part}: " + ", ".join(f"{totals[key]} {key}" for key in totals), flush=True)
    return totals["differ"] == 0 and next(iter(totals.values())) > 0


def lowering(folder, index):
    totals = {"cells": 0, "orders": 0, "differ": 0}
    for order in index["orders"]:
        if OLD and (order["schedule"] == "dualpipe-v" or order.get("pytorch_groups")):
            continue  # which 2.6 has no word for; written for 2.14 only
        rows = cells(folder / f"{order['name']}.csv")
        actions = {rank: [schedules._Action.from_str(cell) for cell in row] for rank, row in enumerate(rows)}
        stage_to_rank = {chunk: rank for rank, own in enumerate(chunks_of(rows)[0]) for chunk in own}
        lowered = {rank: schedules._add_unshard_reshard(row) for rank, row in actions.items()}
        if not OLD:
            lowered = {rank: schedules._add_reduce_grad(row, order["mb"]) for rank, row in lowered.items()}
        lowered = schedules._add_send_recv(lowered, lambda stage: stage_to_rank[stage], len(stage_to_rank))
        ours = cells(folder / f"{order['name']}.comms{'-2.6' if OLD else ''}.csv")
        compare(order["name"], ours, [[str(a) for a in lowered[rank]] for rank in sorted(lowered)], totals)
    return report("lowering", totals)


CLASSES = {
    "gpipe": "ScheduleGPipe", "1f1b": "Schedule1F1B", "interleaved": "ScheduleInterleaved1F1B", "looped-bfs": "ScheduleLoopedBFS",
    "zb-interleaved": "ScheduleInterleavedZeroBubble", "zb-v": "ScheduleZBVZeroBubble", "dualpipe-v": "ScheduleDualPipeV",
}  # fmt: skip


class Recorder:
    """In place of a stage: notes what a schedule has it compute."""

    submod, has_backward = None, True

    def __init__(self, index, num_stages, group_size):
        self.stage_index, self.num_stages, self.group_size, self.group_rank = index, num_stages, group_size, index % group_size
        self.is_first, self.is_last, self.ran = index == 0, index == num_stages - 1, []

    def forward_one_chunk(self, mb, *_, **__):
        self.ran.append(f"{self.stage_index}F{mb}")

    def backward_one_chunk(self, mb, **__):
        self.ran.append(f"{self.stage_index}B{mb}")

    def nothing(self, *_, **__):
        return []

    get_fwd_recv_ops = get_fwd_send_ops = get_bwd_recv_ops = get_bwd_send_ops = perform_reduce_grad = nothing


def as_run(kind, rank, stages, mb):
    """What a class of one chunk per stage runs. Its _get_pipeline_order, a picture beside that, is another one: of Schedule1F1B
    in 2.14 it has the last stage run 1F1 to 1Fm."""
    stage = Recorder(rank, stages, stages)
    made = kind(stage, mb, loss_fn=lambda *_: None)
    made._initialize_stage = made._maybe_compute_loss = made._maybe_get_loss = made._update_losses = stage.nothing
    made._step_microbatches([()] * mb, [{}] * mb)
    return stage.ran


def classes(folder, index):
    totals = {"cells": 0, "orders": 0, "differ": 0}
    seen, refused = collections.Counter(), 0
    for order in index["orders"]:
        name = CLASSES.get(order["schedule"])
        if not name or (name == "ScheduleInterleaved1F1B" and not order.get("pytorch_groups")):
            continue
        rows = cells(folder / f"{order['name']}.csv")
        kind = getattr(schedules, name)
        try:
            if issubclass(kind, schedules.PipelineScheduleMulti):
                v = len(chunks_of(rows)[0][0])
                stages = [Recorder(i * len(rows), len(rows) * v, len(rows)) for i in range(v)]
                theirs = kind(stages, order["mb"], loss_fn=lambda *_: None).pipeline_order
            else:
                theirs = {rank: as_run(kind, rank, len(rows), order["mb"]) for rank in range(len(rows))}
        except ValueError as refusal:
            refused += 1
            print(f"not taken by {name}: {order['name']}: {refusal}")
            continue
        theirs = [[str(a) for a in theirs[rank] if a is not None] for rank in sorted(theirs)]
        compare(f"{name} of {order['name']}", rows, theirs, totals)
        seen[name] += 1
    print("; ".join(f"{name} {count}" for name, count in sorted(seen.items())), f"; {refused} shapes not taken")
    if set(seen) != set(CLASSES.values()):
        sys.exit(f"no order of {set(CLASSES.values()) - set(seen)}")
    return report("classes", totals)


# --- what runs ---------------------------------------------------------------------------------------------------------------------


def chunk(index, width=WIDTH):
    torch.manual_seed(index)
    return torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.Tanh(), torch.nn.Linear(width, width)).double()


def batch(mb, width=WIDTH, rows=ROWS):
    torch.manual_seed(1000)
    return torch.randn(mb * rows, width).double(), torch.randn(mb * rows, width).double()


def gradients(module):
    return [parameter.grad.clone() for parameter in module.parameters()]


def one_process(chunks, mb, answers):
    """Losses of all microbatches, and the gradients of their mean, by chunk."""
    modules = [chunk(i) for i in range(chunks)]
    losses = []
    for x, y in zip(*(t.tensor_split(mb) for t in batch(mb))):
        for module in modules:
            x = module(x)
        losses.append(torch.nn.functional.mse_loss(x, y))
    (sum(losses) / mb).backward()
    answers.put(("reference", [loss.item() for loss in losses], {i: [g.tolist() for g in gradients(m)] for i, m in enumerate(modules)}))


class Communicators:
    """In place of _batch_p2p: operations of a rank on one communicator run one after the other, each to its end. Gloo's sends end
    when they have been received, so that this is NCCL's rendezvous."""

    def __init__(self, p2p, ended):
        self.key = {
            "group": lambda op: 0,
            "direction": lambda op: op.direction,
            "pair": lambda op: op.group_peer,
            "edge": lambda op: (op.group_peer, op.op is dist.isend),
        }[p2p]
        for direction in ("fwd", "bwd"):
            for get in (f"get_{direction}_send_ops", f"get_{direction}_recv_ops"):
                setattr(PipelineStage, get, self.marking(getattr(PipelineStage, get), direction))
        # Gloo has one queue for each tag: what goes over two communicators must not be taken for each other.
        self.tag = (lambda op: int(op.direction == "bwd")) if p2p == "direction" else lambda op: 0
        self.threads = collections.defaultdict(lambda: concurrent.futures.ThreadPoolExecutor(1))
        self.ended = ended

    @staticmethod
    def marking(get, direction):
        def marked(*arguments):
            ops = get(*arguments)
            for op in ops:
                op.direction = direction
            return ops

        return marked

    def launch(self, ops, desc=None):
        return [types.SimpleNamespace(wait=self.threads[self.key(op)].submit(self.run, op).result) for op in ops]

    def run(self, op):
        peer = {"group_dst" if op.op is dist.isend else "group_src": op.group_peer}
        op.op(op.tensor, group=op.group, tag=op.tag + self.tag(op), **peer).wait()
        with self.ended.get_lock():
            self.ended.value += 1


def work(rank, rendezvous, order, mb, p2p, answers, ended, profile, load):
    torch.set_num_threads(1)
    logging.disable(logging.ERROR)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    rows = rows_of(order)
    dist.init_process_group("gloo", f"file://{rendezvous}", rank=rank, world_size=len(rows))
    own, chunks = chunks_of(rows)
    width, count = (256, 32) if profile else (WIDTH, ROWS)
    modules = {i: chunk(i, width) for i in own[rank]}
    stages = [PipelineStage(module, i, chunks, torch.device("cpu")) for i, module in modules.items()]
    schedule = load(stages, order, mb, torch.nn.functional.mse_loss)
    if p2p:
        schedules._batch_p2p = Communicators(p2p, ended).launch
    x, y = batch(mb, width, count)
    losses = []

    def step():
        losses.clear()
        for module in modules.values():
            module.zero_grad()
        last = {"target": y, "losses": losses} if chunks - 1 in modules else {}
        schedule.step(*([x] if 0 in modules else []), **last)

    step()
    if profile:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
            for number in range(2):
                with torch.profiler.record_function(f"ProfilerStep#{number}"):
                    step()
        profiler.export_chrome_trace(profile.format(rank))
    answers.put((rank, [loss.item() for loss in losses], {i: [g.tolist() for g in gradients(m)] for i, m in modules.items()}))
    answers.close()
    answers.join_thread()
    signal.pause()  # until all have answered: who leaves breaks the connections of the others


def load_csv(stages, file, mb, loss):
    schedule = schedules._PipelineScheduleRuntime(stages, mb, loss_fn=loss)
    schedule._load_csv(str(file), format="compute_comms")
    return schedule


def outcome(order, stages, mb, p2p=None, profile=None, load=load_csv):
    """runs, hangs, astray (losses or gradients are not those of one process), or fails. An order is a file, or what load() takes and
    has rows."""
    rows = rows_of(order)
    context = multiprocessing.get_context("fork")
    answers, ended = context.Queue(), context.Value("l", 0)
    chunks = chunks_of(rows)[1]
    reference = context.Process(target=one_process, args=(chunks, mb, answers))
    reference.start()
    expected = answers.get(timeout=60)
    reference.join()
    with tempfile.TemporaryDirectory() as folder:
        arguments = (f"{folder}/rendezvous", order, mb, p2p, answers, ended, profile, load)
        ranks = [context.Process(target=work, args=(rank, *arguments), daemon=True) for rank in range(stages)]
        for process in ranks:
            process.start()
        found, seen, since = [], -1, time.monotonic()
        while len(found) < stages and time.monotonic() < since + QUIET:
            if any(process.exitcode for process in ranks):
                break
            if ended.value != seen:
                seen, since = ended.value, time.monotonic()
            try:
                found.append(answers.get(timeout=0.2))
                since = time.monotonic()
            except queue.Empty:
                pass
        failed = any(process.exitcode for process in ranks)
        for process in ranks:
            process.kill()
            process.join()
    if failed:
        return "fails"
    if len(found) < stages:
        return "hangs"
    if profile:
        return "runs"
    losses = [loss for _, part, _ in found for loss in part]
    grads = {i: g for _, _, part in found for i, g in part.items()}
    equal = torch.allclose(torch.tensor(losses).double(), torch.tensor(expected[1]).double(), rtol=1e-12, atol=0) and all(
        torch.allclose(torch.tensor(a).double(), torch.tensor(b).double(), rtol=1e-9, atol=1e-15)
        for i in range(chunks)
        for a, b in zip(grads[i], expected[2][i])
    )
    return "runs" if equal else "astray"


def train(folder, index):
    totals = {"orders": 0, "differ": 0}
    for order in index["train"]:
        became = outcome(folder / f"{order['name']}.comms.csv", order["stages"], order["mb"])
        totals["orders"] += 1
        if became != "runs":
            totals["differ"] += 1
            print(f"differs: {order['name']}: {became}", flush=True)
    return report("train", totals)


def hang(folder, index):
    totals = {"verdicts": 0, "hangs": 0, "astray": 0, "runs": 0, "differ": 0}
    tries = []
    for order in index["hang"]:
        rows = cells(folder / order["name"])
        mb = 1 + max(int(cell.split("F")[-1]) for cell in rows[0] if "SEND_F" in cell)
        kinds = ["group"] + [p2p for p2p in ("direction", "pair", "edge") if order["says"][p2p] != "runs" or order["says"]["group"] != "runs"]
        tries += [(order["name"], len(rows), mb, p2p, order["says"][p2p]) for p2p in kinds]  # what runs on one runs on more
    # What hangs takes no processor time: several at once
    with concurrent.futures.ProcessPoolExecutor(6, multiprocessing.get_context("fork")) as pool:
        became = pool.map(outcome, *zip(*((folder / name, stages, mb, p2p) for name, stages, mb, p2p, _ in tries)))
        for (name, _, _, p2p, says), there in zip(tries, became):
            totals["verdicts"] += 1
            totals[says] += 1
            if there != says:
                totals["differ"] += 1
                print(f"differs: {name}, p2p {p2p}: {says} here, {there} there", flush=True)
    return report("hang", totals) and all(totals[says] for says in ("hangs", "runs"))


def profile(folder, index):
    (folder / "profiles").mkdir(exist_ok=True)
    totals = {"profiles": 0, "differ": 0}
    for order in index["profile"]:
        name = str(folder / "profiles" / f"{order['name'].removesuffix('-pytorch')}-rank")
        became = outcome(folder / f"{order['name']}.comms.csv", order["stages"], order["mb"], profile=name + "{}.json")
        if became != "runs":
            totals["differ"] += 1
            print(f"{order['name']}: {became}")
            continue
        for rank in range(order["stages"]):
            path = pathlib.Path(f"{name}{rank}.json")
            trace = json.loads(path.read_text())
            # Nothing of the machine: neither its name nor its folders, nor numbers of processes
            trace["traceEvents"] = [e for e in trace["traceEvents"] if not e["name"].startswith(("thread_", "process_sort"))]
            numbers = {}
            for event in trace["traceEvents"]:
                for key in ("pid", "tid"):
                    if isinstance(event.get(key), int):
                        event[key] = numbers.setdefault(event[key], len(numbers))
            kept = {key: trace[key] for key in ("schemaVersion", "distributedInfo", "baseTimeNanoseconds", "displayTimeUnit", "traceEvents") if key in trace}
            with open(f"{path}.gz", "wb") as packed, gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=0) as text:
                text.write(json.dumps(kept, separators=(",", ":")).encode())
            path.unlink()
            totals["profiles"] += 1
    return report("profile", totals)


if __name__ == "__main__":
    where = pathlib.Path(sys.argv[1])
    what = json.loads((where / "index.json").read_text())
    results = [{"lowering": lowering, "classes": classes, "train": train, "hang": hang, "profile": profile}[part](where, what) for part in sys.argv[2:]]
    sys.exit(0 if all(results) else 1)
