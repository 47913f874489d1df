"""simulate(): figures that can be checked with a pencil, and the bytes of the program."""

import datetime
import gc
import os
import shlex
import tempfile
import time
import timeit
import unittest

import numpy
import pandas
import ppsim
from support import ROOT, SLACK, keywords, program

LINES = [
    "--stages 4 --mb 8",
    "--stages 4 --mb 8 --vpp 2 --comm 100us",
    "--stages 1 --mb 1",
    "--stages 4 --mb 8 --schedule gpipe --gpipe-backward descending",
    "--stages 4 --mb 8 --schedule zb-v --forward 10ms,11ms,12ms,13ms,10ms,11ms,12ms,13ms --backward 20ms",
    "--stages 4 --mb 8 --schedule zb-auto --activation-bytes 1GiB --memory-limit 4GiB",
    "--stages 4 --mb 8 --schedule pipedream --parameter-bytes 1GiB",
    "--stages 8 --mb 16 --schedule dualpipe --pair 1.5",
    "--stages 4 --mb 8 --transfer blocking --latency 10us --bandwidth 50GB/s --boundary-bytes 32MiB",
    "--stages 4 --mb 8 --transfer streams --comm 1ms --lowering pytorch --vpp 2",
    "--stages 4 --mb 8 --reduce 1ms --optimizer 2ms --optimizer-step per-stage",
    "--stages 4 --mb 8 --jitter 5% --samples 200 --seed 7",
    "--stages 4 --mb 8 --sensitivity",
    "--stages 4 --mb 8 --bound",
    "--stages 8 --mb 32 --comm 1ms --schedule zb-h1 --bound",  # with the effort that single runs get
    "--stages 4 --mb 8 --slow 1=1.2 --slow-link 0-1=2 --comm 1ms",
    "--stages 4 --mb 8 --forward-only",
    "--stages 4 --mb 8 --tasks --title 'it is'",
    "--model llama-3-8b --device h100 --stages 4 --mb 16 --tensor-parallel 2 --data-parallel 4 --recompute selective",
    "--scenario traces/samples/zero-bubble-1.5b-m24.toml --schedule gpipe",
    "--schedule-file traces/samples/two-sends-first.csv --comm 1ms --transfer streams --p2p edge",
    "--stages 4 --mb 8 --activation-bytes 3GiB --memory-limit 10GiB",
]


class Figures(unittest.TestCase):
    def test_pencil(self):
        """1F1B of p stages and m microbatches takes (m + p - 1)(F + B); its bubble is (p - 1) / (m + p - 1)."""
        for stages, mb in ((1, 1), (2, 3), (4, 8), (8, 8)):
            run = ppsim.simulate(stages=stages, mb=mb, forward="10ms", backward="20ms")
            self.assertEqual(run.step_time_ns, (mb + stages - 1) * 30_000_000)
            self.assertAlmostEqual(run.bubble, (stages - 1) / (mb + stages - 1))
            self.assertEqual(run.busy_ns.tolist(), [mb * 30_000_000] * stages)

    def test_counts_may_be_whole_floats(self):
        run = ppsim.simulate(stages=4.0, mb=numpy.float64(8), forward=["1ms", "2ms", "1ms", "1ms"])
        self.assertEqual(run.json(), ppsim.simulate(stages=4, mb=8, forward=["1ms", "2ms", "1ms", "1ms"]).json())
        self.assertEqual(ppsim.simulate(stages=4, mb=8, jitter=0.05, samples=1e2).json(),
                         ppsim.simulate(stages=4, mb=8, jitter=0.05, samples=100).json())

    def test_bytes_of_the_program(self):
        os.chdir(ROOT)
        for line in LINES:
            with self.subTest(line):
                self.assertEqual(ppsim.simulate(**keywords(line)).json(), program("simulate", *shlex.split(line)))

    def test_to_dict_is_the_json(self):
        run = ppsim.simulate(stages=2, mb=2)
        told = run.to_dict(tasks=True)
        self.assertEqual(told["makespan_ns"], run.makespan_ns)
        self.assertEqual(len(told["tasks"]), 8)

    def test_values_of_all_kinds(self):
        text = ppsim.simulate(stages="4", mb="8", forward="10ms,10ms,10ms,20ms", vpp="1", efficiency=None).json()
        times = [datetime.timedelta(milliseconds=10)] * 3 + [datetime.timedelta(milliseconds=20)]
        for forward in (["10ms", "10ms", "10ms", "20ms"], times, ("10ms",) * 3 + (numpy.timedelta64(20, "ms"),),
                        numpy.array([10, 10, 10, 20], "timedelta64[ms]"), "10ms, 10ms, 10ms, 20ms"):
            self.assertEqual(ppsim.simulate(stages=numpy.int32(4), mb=8, forward=forward, vpp=[1]).json(), text)
        self.assertEqual(ppsim.simulate(stages=4, mb=8, slow={1: 1.5}).json(), ppsim.simulate(stages=4, mb=8, slow="1=1.5").json())
        self.assertEqual(ppsim.simulate(pp=4, microbatches=8).json(), ppsim.simulate(stages=4, mb=8).json())
        self.assertEqual(ppsim.simulate(stages=4, mb=8, overlap_grad_reduce=False, reduce="1ms").json(),
                         ppsim.simulate(stages=4, mb=8, overlap_grad_reduce="off", reduce="1ms").json())

    def test_a_schedule_by_lists(self):
        """GPipe of two stages: F F B B on each; the last stage runs from 1 ms to 7 ms, the last B of the first from 7 ms to 9 ms."""
        rows = [["F0", "F1", "B0", "B1"], ["F0", "F1", "B0", "B1"]]
        for schedule in (rows, ppsim.Schedule.from_lists(rows), [["0F0", "0F1", "0B0", "0B1"], ("1F0", "1F1", "1B0", "1B1")]):
            run = ppsim.simulate(schedule=schedule, forward="1ms", backward="2ms")
            self.assertEqual(run.makespan_ns, 9_000_000)
            self.assertEqual(run.order, [["0F0", "0F1", "0B0", "0B1"], ["1F0", "1F1", "1B0", "1B1"]])
            self.assertEqual((run.stages, run.microbatches, run.vpp), (2, 2, 1))
        order = ppsim.simulate(stages=4, mb=8, schedule="zb-v").order
        again = ppsim.simulate(schedule=order)
        self.assertEqual(again.order, order)
        self.assertEqual(ppsim.Schedule.from_csv(again.csv()), ppsim.Schedule(order))

    def test_files_are_written_too(self):
        with tempfile.TemporaryDirectory() as folder:
            run = ppsim.simulate(stages=4, mb=8, svg=f"{folder}/run.svg", json=f"{folder}/run.json")
            alone = ppsim.simulate(stages=4, mb=8, html=f"{folder}/run.html")
            with open(f"{folder}/run.html", encoding="utf-8") as html:
                self.assertEqual(html.read(), alone.html())
            with open(f"{folder}/run.svg") as svg, open(f"{folder}/run.json") as json:
                self.assertEqual(svg.read(), run.svg())
                self.assertEqual(json.read(), run.json())

    def test_the_exit_status_of_the_program(self):
        self.assertEqual(ppsim.simulate(stages=4, mb=8).exit_code, 0)
        small = ppsim.simulate(stages=4, mb=8, activation_bytes="3GiB", memory_limit="10GiB")
        self.assertEqual((small.exit_code, small.fits), (3, False))
        self.assertEqual(ppsim.simulate(stages=4, mb=8, fail_if="bubble_ratio > 0.1").exit_code, 3)
        self.assertEqual(ppsim.simulate(stages=4, mb=8, fail_if=["bubble_ratio > 0.5", "makespan_ns > 1"]).exit_code, 3)


class Arrays(unittest.TestCase):
    def test_tasks(self):
        run = ppsim.simulate(stages=2, mb=2, forward="1ms", backward="2ms")
        rows = [(0, 0, 0, "F", 0, 1), (0, 0, 1, "F", 1, 2), (0, 0, 0, "B", 4, 6), (0, 0, 1, "B", 7, 9),
                (1, 1, 0, "F", 1, 2), (1, 1, 0, "B", 2, 4), (1, 1, 1, "F", 4, 5), (1, 1, 1, "B", 5, 7)]
        self.assertEqual(run.tasks.tolist(), [(*row[:4], row[4] * 1_000_000, row[5] * 1_000_000) for row in rows])
        self.assertEqual(run.spans["end_ns"].tolist(), run.tasks["end_ns"].tolist())
        frame = pandas.DataFrame(run.tasks)
        self.assertEqual(frame.groupby("pass").start_ns.count().to_dict(), {"B": 4, "F": 4})

    def test_memory(self):
        """Stage 0 of 1F1B holds up to p activations."""
        run = ppsim.simulate(stages=4, mb=8, activation_bytes="1GiB", parameter_bytes="1GiB")
        memory = run.memory(0)
        self.assertEqual(memory["live"].max(), 4)
        self.assertEqual(memory["bytes"].max(), run.peak_bytes[0])
        self.assertEqual(run.peak_bytes.tolist(), [(1 + stages) << 30 for stages in (4, 3, 2, 1)])
        self.assertEqual(memory["bytes"][0], 1 << 30)

    def test_nothing_is_copied(self):
        run = ppsim.simulate(stages=4, mb=8)
        for name in ("tasks", "spans", "transfers"):
            self.assertTrue(numpy.shares_memory(getattr(run, name), getattr(run, name)), name)
        self.assertTrue(numpy.shares_memory(run.memory(1), run.memory(1)))
        self.assertFalse(run.tasks.flags.owndata)
        with self.assertRaises(ValueError):
            run.tasks["stage"][0] = 1
        with self.assertRaises(ValueError):
            run.spans["start_ns"][0] = 1

    def test_arrays_outlive_the_name_of_their_run(self):
        run = ppsim.simulate(stages=4, mb=256)
        tasks, spans, memory = run.tasks, run.spans, run.memory(0)
        kept = tasks.copy(), spans.copy(), memory.copy()
        self.assertIs(tasks.base, run)
        del run
        gc.collect()
        fill = [ppsim.simulate(stages=4, mb=256) for _ in range(20)]  # would take freed memory
        self.assertTrue(all((one == other).all() for one, other in zip((tasks, spans, memory), kept)))
        self.assertEqual(len(fill), 20)


class Overhead(unittest.TestCase):
    def test_a_small_simulation(self):
        """30 us; twice that of the processor, as others use the machine, and of several tries the best."""
        count = 300
        tries = timeit.repeat(lambda: ppsim.simulate(stages=4, mb=8).step_time_ns, timer=time.process_time, number=count, repeat=8)
        self.assertLess(min(tries) / count * 1e6, 60 * SLACK)


if __name__ == "__main__":
    unittest.main()
