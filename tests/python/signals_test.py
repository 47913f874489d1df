"""Calls hold no lock, and end by Ctrl-C."""

import _thread
import os
import signal
import threading
import time
import unittest

import ppsim
from support import ROOT, SLACK

LONG = {
    "simulate": lambda: ppsim.simulate(stages=64, mb=200_000),
    "a search": lambda: ppsim.simulate(stages=64, mb=20_000, schedule="zb-auto"),
    "jitter": lambda: ppsim.simulate(stages=32, mb=1000, jitter="5%", samples=30_000),
    "compare": lambda: ppsim.compare(stages=32, mb=8192),
    "vary": lambda: ppsim.vary("comm=0..2ms", stages=16, mb=512),
    "sweep": lambda: ppsim.sweep({"mb": "8..16384:x2", "schedule": "all"}, stages=16),
    "synthesize": lambda: ppsim.synthesize(stages=16, mb=256, comm="300us", placement="all", effort=50),
    "plan": lambda: ppsim.plan(model="llama-3-70b", device="h100", gpus=4096, global_batch=4096),
}


class Interrupted(unittest.TestCase):
    def setUp(self):
        os.chdir(ROOT)

    def interrupted_after(self, call, delay=0.2):
        """How long it takes to end once Ctrl-C has come; nothing where it ends before."""
        sent = []

        def press():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(delay, press)
        timer.start()
        try:
            call()
        except KeyboardInterrupt:
            return time.monotonic() - sent[0]
        finally:
            timer.cancel()
        return None

    def test_every_long_call(self):
        for name, call in LONG.items():
            with self.subTest(name):
                took = self.interrupted_after(call)
                self.assertIsNotNone(took, "ended before it could be interrupted")
                self.assertLess(took, 2.0 * SLACK)

    def interruption_of(self, call, delay):
        timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            with self.assertRaises(KeyboardInterrupt) as raised:
                call()
        finally:
            timer.cancel()
        return raised.exception

    def test_a_search_keeps_what_it_has(self):
        costs = {"forward": "10ms", "input_grad": "12ms", "weight_grad": "8ms", "comm": "4ms"}
        raised = self.interruption_of(
            lambda: ppsim.synthesize(stages=4, mb=12, placement="v", activation_limit=6, effort=1_000_000, **costs),
            2.0 * SLACK)
        found = raised.result
        self.assertEqual(ppsim.simulate(schedule=found.schedule, **costs).makespan_ns, found.makespan_ns)
        self.assertGreater(found.makespan_ns, found.lower_bound_ns)
        self.assertTrue(any("interrupted" in note for note in found.notes))
        self.assertEqual(vars(raised).keys(), {"result"})

    def test_what_is_no_search_has_no_result(self):
        self.assertFalse(hasattr(self.interruption_of(LONG["compare"], 0.2), "result"))

    def test_a_report(self):
        run = ppsim.simulate(stages=32, mb=4000)
        took = self.interrupted_after(lambda: [run.text() for _ in range(1000)], 0.3)
        self.assertLess(took, 2.0 * SLACK)
        self.assertEqual(run.stages, 32)  # and can go on

    def test_what_a_handler_raises(self):
        def handle(number, frame):
            raise TimeoutError

        before = signal.signal(signal.SIGALRM, handle)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with self.assertRaises(TimeoutError):
                LONG["synthesize"]()
        finally:
            signal.signal(signal.SIGALRM, before)

    def test_signals_are_as_before(self):
        before = signal.getsignal(signal.SIGINT)
        ppsim.synthesize(stages=2, mb=2)
        ppsim.sweep({"mb": [2, 4]}, stages=2)
        self.assertIs(signal.getsignal(signal.SIGINT), before)
        with self.assertRaises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)


class Threads(unittest.TestCase):
    def test_the_lock_is_free(self):
        """Another thread counts while a call works."""
        counted, ended = [0], threading.Event()

        def count():
            while not ended.is_set():
                counted[0] += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        began = time.monotonic()
        ppsim.simulate(stages=32, mb=20_000).json()
        took = time.monotonic() - began
        ended.set()
        thread.join()
        self.assertGreater(counted[0], took / 0.05 / SLACK)  # far from a thousand in a second, as others use the machine

    def test_calls_side_by_side(self):
        """One run shared, and runs of their own."""
        run = ppsim.simulate(stages=8, mb=64)
        told = ppsim.simulate(stages=8, mb=64).json()
        wrong = []

        def work(number):
            for _ in range(20):
                if run.json() != told or len(run.tasks) != 1024 or run.memory(number % 8)["live"].max() != 8 - number % 8:
                    wrong.append(number)
                if ppsim.simulate(stages=4, mb=8 + number).step_time_ns != (11 + number) * 3_000_000:
                    wrong.append(number)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_interrupting_main_from_a_thread(self):
        threading.Timer(0.3, _thread.interrupt_main).start()
        with self.assertRaises(KeyboardInterrupt):
            LONG["synthesize"]()


if __name__ == "__main__":
    unittest.main()
