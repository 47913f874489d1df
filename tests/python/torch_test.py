"""ppsim.torch: orders as PyTorch takes them. Where PyTorch is not installed, a stand-in says what of it is used, and the same
tests run with both: tests/witnesses/python.sh has them run with PyTorch itself."""

import csv
import importlib
import importlib.util
import os
import re
import sys
import tempfile
import types
import typing
import unittest

import ppsim
import ppsim.torch
from support import program

HAS_TORCH = importlib.util.find_spec("torch") is not None


class Action(typing.NamedTuple):
    """As PyTorch's _Action: parts and notation; an empty cell is None."""

    stage_index: int
    computation_type: str
    microbatch_index: "int | None" = None
    sub_actions: "tuple | None" = None

    @staticmethod
    def from_str(text):
        text = text.strip()
        if text == "":
            return None
        if text.startswith("(") and ")" in text:
            parts, kind = text[1:].split(")")
            return Action(-1, kind, None, tuple(Action.from_str(part) for part in parts.split(";")))
        found = re.match(r"(\d+)(F|I|B|W|UNSHARD|RESHARD|REDUCE_GRAD|SEND_F|RECV_F|SEND_B|RECV_B)(\d*)", text)
        if not found:
            raise RuntimeError(f"Invalid action string: {text}")
        return Action(int(found[1]), found[2], int(found[3]) if found[3] else None)

    def __repr__(self):
        if self.sub_actions is not None:
            return f"({';'.join(map(repr, self.sub_actions))}){self.computation_type}"
        return f"{self.stage_index}{self.computation_type}" + ("" if self.microbatch_index is None else str(self.microbatch_index))

    __str__ = __repr__


class Runtime:
    """As PyTorch's _PipelineScheduleRuntime, as far as a file is read and refused."""

    def __init__(self, stages, n_microbatches, loss_fn=None, scale_grads=True):
        self._stages, self._n_microbatches, self._loss_fn, self.scale_grads = stages, n_microbatches, loss_fn, scale_grads
        self._num_stages, self.pp_group_size = stages[0].num_stages, stages[0].group_size
        self.pipeline_order = {}

    def _load_csv(self, filename, format="compute_only"):
        assert format == "compute_comms"  # the other one is lowered by PyTorch
        with open(filename, newline="") as text:
            actions = {rank: [Action.from_str(cell) for cell in row] for rank, row in enumerate(csv.reader(text))}
        if len(actions) != self.pp_group_size:
            raise AssertionError(f"expected {self.pp_group_size} ranks, actual {len(actions)}")
        passes = {(chunk, kind): set() for chunk in range(self._num_stages) for kind in "FBIW"}
        for row in actions.values():
            for action in (leaf for one in row if one is not None for leaf in one.sub_actions or [one]):
                passes.setdefault((action.stage_index, action.computation_type), set()).add(action.microbatch_index)
        for chunk in range(self._num_stages):
            count = {kind: len(passes[chunk, kind]) for kind in "FBIW"}
            if count["F"] != self._n_microbatches or count["I"] != count["W"] or count["B"] + count["I"] != self._n_microbatches:
                raise AssertionError(f"stage {chunk}: {count}, expected {self._n_microbatches} microbatches")
        if any(action is None for row in actions.values() for action in row):
            raise AssertionError("Expected action to be not None")
        self.pipeline_order_with_comms = actions


class Single:
    """As PyTorch's schedules of one stage per rank: they have a picture of an order, which is not what they run."""

    def __init__(self, stage, n_microbatches, loss_fn=None):
        self._stage, self._n_microbatches, self._loss_fn, self._num_stages = stage, n_microbatches, loss_fn, stage.num_stages
        self.pipeline_order = {rank: [None] * rank + [Action(rank, "F", mb + 1) for mb in range(n_microbatches)]
                               for rank in range(stage.num_stages)}


def stand_in():
    names = ["torch", "torch.distributed", "torch.distributed.pipelining", "torch.distributed.pipelining.schedules"]
    modules = [types.ModuleType(name) for name in names]
    modules[2].schedules = modules[3]
    modules[3]._Action, modules[3]._PipelineScheduleRuntime, modules[3]._add_reduce_grad = Action, Runtime, None
    for name in ("ScheduleGPipe", "Schedule1F1B"):
        setattr(modules[3], name, type(name, (Single,), {}))
    return dict(zip(names, modules))


def stage(rank=0, ranks=4, chunks=None):
    """What a schedule asks of a PipelineStage before it runs."""
    return types.SimpleNamespace(stage_index=rank, num_stages=chunks or ranks, group_size=ranks, group_rank=rank)


class Orders(unittest.TestCase):
    def setUp(self):
        if not HAS_TORCH:
            sys.modules.update(stand_in())
            self.addCleanup(lambda: [sys.modules.pop(name) for name in stand_in()])
        self.schedules = importlib.import_module("torch.distributed.pipelining.schedules")

    def test_the_bytes_of_csv_comms(self):
        for schedule in ("1f1b", "interleaved", "zb-v", "dualpipe-v"):
            run = ppsim.simulate(stages=4, mb=8, schedule=schedule)
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "order.csv")
                program("simulate", "--stages", "4", "--mb", "8", "--schedule", schedule, "--lowering", "pytorch", "--csv-comms", path)
                with open(path) as file:
                    self.assertEqual(ppsim.torch.to_csv(run), file.read(), schedule)

    def test_a_schedule_is_loaded_and_read_back(self):
        for schedule, chunks in (("1f1b", 4), ("zb-v", 8), ("dualpipe-v", 8)):
            run = ppsim.simulate(stages=4, mb=8, schedule=schedule)
            loaded = ppsim.torch.load_schedule([stage(chunks=chunks)], run, loss_fn=len, runtime={"scale_grads": False})
            self.assertEqual((loaded._n_microbatches, loaded._loss_fn, loaded.scale_grads), (8, len, False))
            back = ppsim.torch.from_schedule(loaded)
            self.assertEqual(back.to_csv(), ppsim.torch.to_csv(run))
            self.assertEqual(ppsim.simulate(schedule=back).order, run.order)
            self.assertEqual(ppsim.torch.to_csv(back), back.to_csv())  # it keeps its sends and receives

    def test_pytorch_refuses_an_order_of_another_shape(self):
        run = ppsim.simulate(stages=4, mb=8)
        for stages, more in (([stage(ranks=2)], {}), ([stage(chunks=8)], {}), ([stage()], {"n_microbatches": 4})):
            with self.assertRaises(AssertionError):
                ppsim.torch.load_schedule(stages, run, **more)

    def test_actions(self):
        """Two stages, one microbatch: F, send; receive the gradient, B."""
        actions = ppsim.torch.to_actions([["F0", "B0"], ["F0", "B0"]])
        cells = [[str(action) for action in actions[rank] if "SHARD" not in str(action)] for rank in (0, 1)]
        self.assertEqual(cells, [["0F0", "0SEND_F0", "0RECV_B0", "0B0", "0REDUCE_GRAD"],
                                 ["1RECV_F0", "1F0", "1B0", "1SEND_B0", "1REDUCE_GRAD"]])

    def test_an_older_pytorch(self):
        self.addCleanup(setattr, self.schedules, "_add_reduce_grad", self.schedules._add_reduce_grad)
        del self.schedules._add_reduce_grad
        self.assertNotIn("REDUCE_GRAD", ppsim.torch.to_csv([["F0", "B0"], ["F0", "B0"]]))

    def test_classes_of_one_stage_per_rank(self):
        """By what they run, which is not what their pipeline_order shows."""
        for name, schedule in (("Schedule1F1B", "1f1b"), ("ScheduleGPipe", "gpipe")):
            made = getattr(self.schedules, name)(stage(3), 8, loss_fn=len)
            self.assertTrue(made.pipeline_order)
            self.assertEqual(ppsim.torch.from_schedule(made).rows, ppsim.simulate(stages=4, mb=8, schedule=schedule).order)
        with self.assertRaises(TypeError):
            ppsim.torch.from_schedule(object())


class Costs(unittest.TestCase):
    def test_keywords(self):
        """1 + 2 ms on each of two stages, 3 microbatches: (3 + 1) * 3 ms; without halves of the first stage."""
        whole = ppsim.torch.StageTimes(1_000_000, 2_000_000)
        split = ppsim.torch.StageTimes(1_000_000, 2_000_000, 1_500_000, 500_000)
        self.assertEqual(ppsim.simulate(stages=2, mb=3, **ppsim.torch.costs([whole, split])).step_time_ns, 12_000_000)
        said = ppsim.torch.costs([split, split])
        self.assertEqual(said, {"forward": ["1000000ns"] * 2, "input_grad": ["1500000ns"] * 2, "weight_grad": ["500000ns"] * 2})
        self.assertEqual(ppsim.simulate(stages=2, mb=3, **said).step_time_ns, 12_000_000)

    def test_a_first_stage(self):
        """PyTorch runs nothing as its I. Two stages, one microbatch: F 1 ms, F 1 ms, I 1.5 ms, and W 0.5 ms beside W 2 ms."""
        first = ppsim.torch.StageTimes(1_000_000, 2_000_000, 0, 2_000_000)
        last = ppsim.torch.StageTimes(1_000_000, 2_000_000, 1_500_000, 500_000)
        run = ppsim.simulate(stages=2, mb=1, schedule="zb-h1", **ppsim.torch.costs([first, last]))
        self.assertEqual(run.makespan_ns, 5_500_000)

    @unittest.skipUnless(HAS_TORCH, "there is no PyTorch")
    def test_measured(self):
        import torch

        linear = torch.nn.Linear(64, 64)
        times = ppsim.torch.measure(linear, torch.randn(8, 64))
        self.assertGreater(min(times), 0)
        self.assertEqual(times.backward_ns, times.input_grad_ns + times.weight_grad_ns)
        first = [ppsim.torch.measure(types.SimpleNamespace(submod=linear, is_first=True), torch.randn(8, 64)),
                 ppsim.torch.measure(torch.nn.Embedding(16, 64), torch.arange(8))]
        for times in first:
            self.assertGreater(times.forward_ns, 0)
            self.assertEqual((times.input_grad_ns, times.weight_grad_ns), (0, times.backward_ns))
        frozen = ppsim.torch.measure(torch.nn.Tanh(), torch.randn(8, 64))
        self.assertEqual((frozen.input_grad_ns, frozen.weight_grad_ns), (frozen.backward_ns, 0))


if __name__ == "__main__":
    unittest.main()
