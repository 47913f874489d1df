"""ppsim.torch: orders as PyTorch takes them, with a stand-in for what of it is used where PyTorch is not installed."""

import importlib.util
import re
import sys
import types
import unittest

import ppsim
import ppsim.torch
from support import program

HAS_TORCH = importlib.util.find_spec("torch") is not None


class Action:
    """As PyTorch's _Action: it knows the notation, and is written as it was read."""

    form = re.compile(r"(\d+)(F|B|I|W|SEND_F|RECV_F|SEND_B|RECV_B|UNSHARD|RESHARD|REDUCE_GRAD)(\d*)$")

    def __init__(self, text):
        if not self.form.match(text) and not re.match(r"\(.*\)OVERLAP_F_B$", text):
            raise RuntimeError(f"Invalid action string: {text}")
        self.text = text

    from_str = classmethod(lambda cls, text: cls(text))

    def __repr__(self):
        return self.text


class Runtime:
    def __init__(self, stages, n_microbatches, loss_fn=None, scale_grads=True):
        self.stages, self.n_microbatches, self.loss_fn, self.scale_grads = stages, n_microbatches, loss_fn, scale_grads

    def _load_csv(self, file, format):
        assert format == "compute_comms"
        with open(file) as lines:
            self.pipeline_order_with_comms = {
                rank: [Action(cell) for cell in line.strip().split(",")] for rank, line in enumerate(lines)}


def stand_in():
    names = ["torch", "torch.distributed", "torch.distributed.pipelining", "torch.distributed.pipelining.schedules"]
    modules = [types.ModuleType(name) for name in names]
    modules[2].schedules = modules[3]
    modules[3]._Action, modules[3]._PipelineScheduleRuntime, modules[3]._add_reduce_grad = Action, Runtime, None
    return dict(zip(names, modules))


@unittest.skipIf(HAS_TORCH, "the witness trains with PyTorch itself: tests/witnesses/pytorch.sh")
class Orders(unittest.TestCase):
    def setUp(self):
        sys.modules.update(stand_in())
        self.addCleanup(lambda: [sys.modules.pop(name) for name in stand_in()])

    def test_the_bytes_of_csv_comms(self):
        import os
        import tempfile

        for schedule in ("1f1b", "interleaved", "zb-v", "dualpipe-v"):
            run = ppsim.simulate(stages=4, mb=8, schedule=schedule)
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "order.csv")
                program("simulate", "--stages", "4", "--mb", "8", "--schedule", schedule, "--lowering", "pytorch", "--csv-comms", path)
                with open(path) as file:
                    self.assertEqual(ppsim.torch.to_csv(run), file.read(), schedule)

    def test_a_schedule_is_loaded_and_read_back(self):
        for schedule in ("1f1b", "zb-v", "dualpipe-v"):
            run = ppsim.simulate(stages=4, mb=8, schedule=schedule)
            loaded = ppsim.torch.load_schedule(["a stage"], run, loss_fn=len, runtime={"scale_grads": False})
            self.assertEqual((loaded.n_microbatches, loaded.loss_fn, loaded.scale_grads), (8, len, False))
            back = ppsim.torch.from_schedule(loaded)
            self.assertEqual(back.to_csv(), ppsim.torch.to_csv(run))
            self.assertEqual(ppsim.simulate(schedule=back).order, run.order)
            self.assertEqual(ppsim.torch.to_csv(back), back.to_csv())  # it keeps its sends and receives

    def test_actions(self):
        """Two stages, one microbatch: F, send; receive the gradient, B."""
        actions = ppsim.torch.to_actions([["F0", "B0"], ["F0", "B0"]])
        cells = [[str(action) for action in actions[rank] if "SHARD" not in str(action)] for rank in (0, 1)]
        self.assertEqual(cells, [["0F0", "0SEND_F0", "0RECV_B0", "0B0", "0REDUCE_GRAD"],
                                 ["1RECV_F0", "1F0", "1B0", "1SEND_B0", "1REDUCE_GRAD"]])

    def test_an_older_pytorch(self):
        del sys.modules["torch.distributed.pipelining.schedules"]._add_reduce_grad
        self.assertNotIn("REDUCE_GRAD", ppsim.torch.to_csv([["F0", "B0"], ["F0", "B0"]]))

    def test_classes_of_one_stage_per_rank(self):
        schedule = type("Schedule1F1B", (), {"_num_stages": 4, "_n_microbatches": 8})()
        self.assertEqual(ppsim.torch.from_schedule(schedule).rows, ppsim.simulate(stages=4, mb=8).order)
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

    @unittest.skipUnless(HAS_TORCH, "there is no PyTorch")
    def test_measured(self):
        import torch

        times = ppsim.torch.measure(torch.nn.Linear(64, 64), torch.randn(8, 64))
        self.assertGreater(times.forward_ns, 0)
        self.assertEqual(times.backward_ns, times.input_grad_ns + times.weight_grad_ns)


if __name__ == "__main__":
    unittest.main()
