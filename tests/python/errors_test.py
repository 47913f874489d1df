"""What is wrong is an exception that names the keyword; nothing ends the interpreter."""

import datetime
import decimal
import gc
import os
import pickle
import unittest
import unittest.mock

import numpy
import ppsim
from support import ROOT

HOSTILE = [
    -1, 0, 2**31, 2**63, 2**64, 2**200, 10**5000, -(2**63), 1.5, 1e300, float("inf"), float("nan"), True, False, "", " ", ",",
    "\0", "4\0", "\ud800", "\udcff4", "é", "4" * 10_000, "-", "--mb", "4 --mb 8", "a" * 1_000_000, b"4", b"", object(), type,
    print, 1j, decimal.Decimal(4), {}, {1: 2}, {"a": {"b": {"c": 1}}}, [], [[]], [[[]]], [[[["4"]]]], [None], ["4", None], (), {4},
    frozenset(), range(0), range(3), iter([4]), numpy.array([]), numpy.zeros((2, 2)), numpy.zeros((2, 2, 2, 2)), numpy.nan,
    numpy.array(["x"]), numpy.array([None]), numpy.timedelta64("NaT"), numpy.datetime64("2020-01-01"),
    datetime.timedelta.max, datetime.timedelta.min, datetime.datetime.now(), Exception("x"), ..., NotImplemented,
]


class Angry:
    """Raises whatever is asked of it."""

    def __getattr__(self, name):
        raise ZeroDivisionError(name)

    __fspath__ = __str__ = __repr__ = lambda self: 1 / 0


class NoPath:
    def __fspath__(self):
        return 4


class Pathological:
    rows = 4


class Shrinking(list):
    """Gets shorter while somebody looks through it."""

    def __iter__(self):
        items = self[:]
        self.clear()
        return iter(items)


def recursive():
    items = []
    items.append(items)
    return items


def recursive_dict():
    items = {}
    items["a"] = items
    return items


class Wrong(unittest.TestCase):
    def error(self, kind, call, *arguments, **options):
        with self.assertRaises(kind) as raised:
            call(*arguments, **options)
        return raised.exception

    def test_what_the_program_says_with_the_names_of_python(self):
        error = self.error(ppsim.Error, ppsim.simulate, stages=4)
        self.assertEqual((error.field, error.exit_code), ("mb", 2))
        self.assertIsInstance(error, ValueError)
        error = self.error(ppsim.Error, ppsim.simulate, stages=4, mb=8, memory_limit="40GB/s")
        self.assertEqual(error.field, "memory_limit")
        self.assertIn("memory_limit: ", str(error))
        self.assertNotIn("--", str(error))
        self.assertTrue(error.what and error.hint)
        error = self.error(ppsim.Error, ppsim.plan, gpus=8)
        self.assertEqual([problem.field for problem in error.problems], ["global_batch", "model", "device"])
        error = self.error(ppsim.Error, ppsim.simulate, stages=4, mb=0, vpp="x")
        self.assertEqual(sorted(problem.field for problem in error.problems), ["mb", "vpp"])

    def test_keywords(self):
        self.assertIn("did you mean stages", str(self.error(TypeError, ppsim.simulate, stagess=4)))
        self.assertIn("is an option of other functions", str(self.error(TypeError, ppsim.simulate, gpus=4)))
        self.assertIn("is not an option", str(self.error(TypeError, ppsim.compare, **{"\0": 4})))
        self.assertIn("given twice", str(self.error(TypeError, ppsim.simulate, stages=4, pp=4, mb=8)))
        self.error(ValueError, ppsim.simulate, **{"\ud800": 4})
        self.error(TypeError, ppsim.check)
        self.error(TypeError, ppsim.simulate, 4)

    def test_types(self):
        for value in (object(), b"4", 1j, {4}, iter([4])):
            self.assertIn("stages: takes", str(self.error(TypeError, ppsim.simulate, stages=value, mb=8)))
        self.assertIn("mb: ", str(self.error(ValueError, ppsim.simulate, stages=4, mb=[])))
        self.assertIn("title: ", str(self.error(ValueError, ppsim.simulate, stages=4, mb=4, title="\ud800")))
        self.assertIn("mb: ", str(self.error(ValueError, ppsim.simulate, stages=4, mb=10**5000)))

    def test_what_the_code_of_a_value_raises_is_printed_nowhere(self):
        with unittest.mock.patch("sys.unraisablehook") as printed:
            self.error(Exception, ppsim.simulate, stages=4, mb=Angry())
            self.error(Exception, ppsim.simulate, schedule=Angry())
        printed.assert_not_called()

    def test_schedules(self):
        self.assertIn("row 1", str(self.error(TypeError, ppsim.simulate, schedule=[["F0"], 4])))
        self.assertIn("row 0", str(self.error(TypeError, ppsim.simulate, schedule=[["F0", 4]])))
        self.assertIn("row 0", str(self.error(ValueError, ppsim.simulate, schedule=[["F0,B0"]])))
        self.error(ValueError, ppsim.simulate, schedule=[["\ud800"]])
        self.error(ppsim.Error, ppsim.simulate, schedule=[[]])
        self.error(ppsim.Error, ppsim.simulate, schedule=[["F99999999999999999999"]])
        self.error(ppsim.Error, ppsim.simulate, schedule=[["F0"]] * 5000)
        self.error(TypeError, ppsim.check, 4)
        self.error(TypeError, ppsim.check, None)
        self.error(ValueError, ppsim.check, "\0")
        self.error(ppsim.Error, ppsim.check, "no such file.csv")
        self.error(TypeError, ppsim.simulate, schedule=Pathological())

    def test_counts_are_whole(self):
        for wrong in (4.5, numpy.float64(0.5), float("inf"), float("nan")):
            error = self.error(ppsim.Error, ppsim.simulate, stages=4, mb=wrong)
            self.assertEqual(error.field, "mb")
            self.assertIn(repr(float(wrong)), error.what)

    def test_outputs_are_no_stdout(self):
        self.assertEqual(self.error(ppsim.Error, ppsim.simulate, stages=4, mb=8, json=True).field, "json")
        error = self.error(ppsim.Error, ppsim.simulate, stages=4, mb=8, svg="/no/such/folder/x.svg")
        self.assertEqual(error.exit_code, 1)

    def test_errors_are_copied(self):
        error = self.error(ppsim.Error, ppsim.simulate, stages=4)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(again), again.problems, again.exit_code), (str(error), error.problems, error.exit_code))

    def test_positions(self):
        run = ppsim.simulate(stages=4, mb=8)
        self.error(IndexError, run.memory, 4)
        for stage in (-1, "0", None, 2**70, 1.5):
            self.error(TypeError, run.memory, stage)
        self.error(TypeError, ppsim.Run)
        self.assertEqual(run.text(width=0), run.text(width=60))
        self.error(TypeError, run.text, width=-1)


class Hostile(unittest.TestCase):
    """Whatever is given: a result, or an exception of Python."""

    def try_call(self, call, *arguments, **options):
        try:
            call(*arguments, **options)
        except (ppsim.Error, TypeError, ValueError, OverflowError, ZeroDivisionError, MemoryError):
            pass

    def test_values(self):
        os.chdir(ROOT)
        values = [*HOSTILE, Angry(), NoPath(), recursive(), recursive_dict(), Shrinking(["4", "5"])]
        for name in ("stages", "mb", "vpp", "schedule", "forward", "memory_limit", "fail_if", "title", "slow", "layout", "model",
                     "pair", "schedule_file", "jitter", "seed", "recompute", "balance", "scenario"):
            for value in values:
                options = {"stages": 2, "mb": 2, name: value}
                self.try_call(ppsim.simulate, **options)
        for value in values:
            self.try_call(ppsim.check, value)
            self.try_call(ppsim.explain, value)
            self.try_call(ppsim.sweep, value, stages=2, mb=2)
            self.try_call(ppsim.vary, value, stages=2, mb=2, points=2)
            self.try_call(ppsim.compare, stages=2, mb=2, schedules=value)
            self.try_call(ppsim.synthesize, stages=2, mb=2, placement=value)
            self.try_call(ppsim.plan, gpus=value, global_batch=value, model=value, device="h100")
        gc.collect()

    def test_core_is_called_directly(self):
        from ppsim import _core

        for arguments in (("no such",), ("simulate", [], ["json"]), ("simulate", 4, 4, 4), ("check", [None], ["json"], {}),
                          ("check", ["a"], ["svg"], {}), ("\ud800", [], [], {}), ("simulate", [], [], {4: 4})):
            with self.assertRaises((ppsim.Error, ppsim.InternalError, TypeError, ValueError)):
                _core.run_command(*arguments)


if __name__ == "__main__":
    unittest.main()
