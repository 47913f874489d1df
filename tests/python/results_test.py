"""The other functions: what the program says, and what pandas and notebooks take."""

import inspect
import os
import pathlib
import tempfile
import unittest

import pandas
import ppsim
from support import ROOT, program

RUNS = ROOT / "traces" / "samples"


class Commands(unittest.TestCase):
    def setUp(self):
        os.chdir(ROOT)

    def test_compare(self):
        compared = ppsim.compare(stages=4, mb=8, comm="100us", activation_bytes="1GiB", memory_limit="40GiB")
        self.assertEqual(compared.json(), program("compare", "--stages", "4", "--mb", "8", "--comm", "100us",
                                                  "--activation-bytes", "1GiB", "--memory-limit", "40GiB"))
        frame = pandas.DataFrame(compared.rows).set_index("name")
        self.assertEqual(frame.loc["1f1b"].step_time_ns, ppsim.simulate(stages=4, mb=8, comm="100us").step_time_ns)
        self.assertIn(compared.best, str(compared))
        self.assertIn(f"<td>{compared.best}</td>", compared._repr_html_())
        self.assertIn(compared.best, compared.recommendation)

    def test_asynchronous_schedules_are_marked(self):
        compared = ppsim.compare(stages=4, mb=8, schedules=["1f1b", "pipedream"])
        self.assertEqual([(row["name"], row["asynchronous"]) for row in compared.rows], [("pipedream", True), ("1f1b", False)])
        self.assertEqual(compared.best, "1f1b")
        self.assertIn("<th>asynchronous</th>", compared._repr_html_())
        varied = ppsim.vary("mb=4,8", stages=4, schedules=["1f1b", "pipedream"])
        self.assertEqual({(row["name"], row["asynchronous"]) for row in varied.rows}, {("pipedream", True), ("1f1b", False)})

    def test_a_row_of_a_comparison_runs(self):
        compared = ppsim.compare(stages=4, mb=8, comm="100us", schedules=["1f1b", "interleaved", "zb-v"], vpp=[2, 4])
        for row in compared.rows:
            self.assertEqual(compared.run(row["name"]).step_time_ns, row["step_time_ns"], row["name"])
        self.assertEqual(compared.run().step_time_ns, compared.rows[0]["step_time_ns"])
        self.assertTrue(compared.svg().startswith("<?xml") or compared.svg().startswith("<svg"))
        with self.assertRaises(KeyError):
            compared.run("gpipe")

    def test_vary(self):
        varied = ppsim.vary("comm=0..2ms", stages=4, mb=8, points=5, schedules=["1f1b", "interleaved"])
        self.assertEqual(varied.json(), program("compare", "--stages", "4", "--mb", "8", "--points", "5", "--schedules",
                                                "1f1b,interleaved", "--vary", "comm=0..2ms"))
        frame = pandas.DataFrame(varied.rows)
        # 1F1B of 4 stages: (m + p - 1) (F + B), and 2 (p - 1) transfers on the critical path at least
        first = frame[(frame.name == "1f1b") & (frame.comm == 0)].step_time_ns.iloc[0]
        self.assertEqual(first, 33_000_000)
        self.assertIn("<svg", varied._repr_svg_())

    def test_sweep(self):
        table = ppsim.sweep({"mb": [8, 16], "schedule": ["1f1b", "gpipe"]}, stages=4)
        self.assertEqual([(row["mb"], row["schedule"]) for row in table.rows],
                         [(8, "1f1b"), (8, "gpipe"), (16, "1f1b"), (16, "gpipe")])
        self.assertEqual([row["step_time_ns"] for row in table.rows], [33_000_000, 33_000_000, 57_000_000, 57_000_000])
        self.assertEqual(len(pandas.DataFrame(table.rows)), 4)
        head, *lines = str(table).splitlines()
        self.assertEqual(head.split(), list(table.rows[0]))
        self.assertEqual([line.split()[:3] for line in lines],
                         [["8", "1f1b", "33000000"], ["8", "gpipe", "33000000"], ["16", "1f1b", "57000000"],
                          ["16", "gpipe", "57000000"]])
        self.assertEqual([line.find("00000") for line in lines], [20] * 4)  # under each other, at the right of their column
        self.assertEqual(repr(table), "<ppsim.Sweep: 4 rows>")
        long = str(ppsim.sweep({"mb": "1..100:+1"}, stages=2)).splitlines()
        self.assertEqual((len(long), long[-1]), (62, "and 40 more rows"))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "table.jsonl"
            rows = ppsim.sweep({"memory_limit": ["1GiB", "40GiB"]}, stages=4, mb=8, activation_bytes="1GiB", table=path).rows
            self.assertEqual([(row["memory_limit"], row["peak_bytes"], row["fits"]) for row in rows],
                             [(1 << 30, 4 << 30, False), (40 << 30, 4 << 30, True)])

    def test_synthesize(self):
        found = ppsim.synthesize(stages=4, mb=8)
        self.assertEqual(found.json(), program("synthesize", "--stages", "4", "--mb", "8"))
        self.assertEqual((found.makespan_ns, found.lower_bound_ns), (27_000_000, 27_000_000))
        self.assertEqual(ppsim.simulate(schedule=found.schedule).makespan_ns, 27_000_000)
        front = ppsim.synthesize(stages=4, mb=4, vary="activation_limit=2..4")
        self.assertEqual(sorted({row["value"] for row in front.rows}), [2, 3, 4])

    def test_plan(self):
        asked = {"model": "llama-3-8b", "device": "h100", "gpus": 8, "global_batch": 16, "top": 2,
                 "fixed": "schedule=1f1b/interleaved,recompute=none"}
        found = ppsim.plan(**asked)
        words = [word for key, value in asked.items() for word in (f"--{key.replace('_', '-')}", str(value))]
        self.assertEqual(found.json(), program("plan", *words))
        self.assertEqual(len(found.rows), 2)
        for row in (0, found.rows[0]):
            self.assertEqual(found.run(row).step_time_ns, found.rows[0]["step_time_ns"])
        self.assertEqual(found.run(1).step_time_ns, found.rows[1]["step_time_ns"])
        self.assertIn("mfu", found._repr_html_())
        self.assertIn("configurations of 8 x h100", repr(found))
        listed = ppsim.plan(**{**asked, "fixed": {"schedule": ["1f1b", "interleaved"], "recompute": "none"}})
        self.assertEqual(listed.json(), found.json())
        balanced = found.to_dict()["balanced"]
        if balanced:  # its layout is what takes that long
            self.assertEqual(found.run(balanced).step_time_ns, balanced["step_time_ns"])

    def test_check(self):
        good = ppsim.check([["F0", "F1", "B0", "B1"], ["F0", "B0", "F1", "B1"]])
        self.assertTrue(good)
        self.assertTrue(good.to_dict()["ok"])
        bad = ppsim.check([["F0", "B0", "F1", "B1"], ["F1", "B1", "F0", "B0"]])  # each waits for the other
        self.assertFalse(bad)
        self.assertEqual((bad.exit_code, bad.to_dict()["ok"]), (3, False))
        self.assertIn("waits", str(bad))
        with self.assertRaises(ppsim.Error) as raised:
            ppsim.check([["F0", "F0", "B0"], ["F0", "B0"]])
        self.assertTrue(raised.exception.problems[0].where.startswith("schedule"))

    def test_place(self):
        placed = ppsim.place(schedule_file="traces/samples/two-sends-first.csv", forward="1ms", backward="2ms", comm="100us")
        self.assertEqual(placed.json(), program("place", "--schedule-file", "traces/samples/two-sends-first.csv", "--forward",
                                                "1ms", "--backward", "2ms", "--comm", "100us"))
        self.assertTrue(ppsim.check(placed.schedule, p2p="group"))
        self.assertTrue(any("SEND" in cell for cell in placed.schedule.rows[0]))

    def test_explain(self):
        path = next(iter(sorted(RUNS.glob("threads-heldout/*/*.json.gz"))))
        told = ppsim.explain(path)
        self.assertEqual(told.json(), program("explain", str(path)))
        self.assertTrue(told.findings)
        self.assertIn("<svg", told._repr_svg_())

    def test_costs(self):
        self.assertEqual(ppsim.costs(model="llama-3-8b", device="h100").json(),
                         program("costs", "--model", "llama-3-8b", "--device", "h100"))

    def test_notes_name_keywords(self):
        notes = ppsim.simulate(stages=4, mb=8, p2p="group").notes
        self.assertEqual(notes, ["p2p: changes nothing without transfer streams"])


class Notebook(unittest.TestCase):
    def test_pictures(self):
        run = ppsim.simulate(stages=4, mb=8)
        self.assertEqual(run._repr_svg_(), run.svg())
        self.assertNotIn("live activations by stage", run.svg())
        self.assertIn("live activations by stage", run.svg(memory=True))
        asked = ppsim.simulate(stages=4, mb=8, svg_memory=True)
        self.assertIn("live activations by stage", asked.svg())
        self.assertIn("1f1b", repr(run))
        self.assertIn("33 ms", repr(run))
        self.assertIn("step time", str(run))

    def test_docstrings_list_the_options(self):
        for function, option in ((ppsim.simulate, "memory_limit : SIZE"), (ppsim.plan, "global_batch : N"),
                                 (ppsim.synthesize, "no_split : bool")):
            self.assertIn(option, function.__doc__)
        self.assertNotIn("--", ppsim.simulate.__doc__.replace("-------", ""))

    def test_docstrings_go_by_section(self):
        lines = [line.rstrip() for line in inspect.getdoc(ppsim.simulate).splitlines()]
        named = [line[:-1] for line in lines if line.endswith(":") and not line.startswith(" ") and " " not in line]
        self.assertEqual(named, ["Pipeline", "Model", "Costs", "Communication", "Memory", "Scenario", "Workload", "Output"])
        self.assertEqual(lines[lines.index("Pipeline:") + 1], "    stages : P")

    def test_what_a_plan_chooses_has_no_default(self):
        lines = ppsim.plan.__doc__.splitlines()
        for option in ("tensor_parallel : N", "data_parallel : N", "zero_stage : N"):
            words = lines[next(i for i, line in enumerate(lines) if line.strip() == option) + 1]
            self.assertNotIn("default", words)
            self.assertTrue(words.endswith("chosen where it is not given"), words)


if __name__ == "__main__":
    unittest.main()
