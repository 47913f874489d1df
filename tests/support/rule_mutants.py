#!/usr/bin/env python3
"""rule_mutants.py CERTIFICATE...: each rule of docs/synthesis.md, changed by one in check_certificate.py, is caught.

All orders of tiny instances are tried. As the rules stand they never exclude a best one, without a case and with cases of
tasks that cannot wait. Each change that says too much makes them exclude one; each that says too little leaves a bound
unproven, of those instances or of the certificates (all true). Exit status 1 if a change goes unnoticed, or the rules as
they stand fail.
"""
import json
import pathlib
import random
import sys
import types

SOURCE = (pathlib.Path(__file__).parent / "check_certificate.py").read_text(encoding="utf-8")
MOST_ORDERS = 2000
INSTANCES = 150

TOO_MUCH = [  # rule, as it stands, changed
    ("at first, starts", "self.h[d][u, j] = j * self.dur[u]", "self.h[d][u, j] = (j + 1) * self.dur[u]"),
    ("at first, numbers", "j + 1 if u in behind[v]", "min(j + 2, m) if u in behind[v]"),
    ("latest", "self.T - self.dur[x[0]] - self.h", "self.T - 1 - self.dur[x[0]] - self.h"),
    ("most", "return self.m - self.n", "return self.m - 1 - self.n"),
    ("1, arcs", "self.dur[a] + lag)", "self.dur[a] + lag + 1)"),
    ("1, sequences", "self.h[d][u, j - 1] + self.dur[u])", "self.h[d][u, j - 1] + self.dur[u] + 1)"),
    ("2", "[(v, k - 1) for v, k in self.n[d][x].items() if k and v != u]",
     "[(v, k) for v, k in self.n[d][x].items() if 0 < k < self.m and v != u]"),
    ("3", "            self.later(d, x, end)\n", "            self.later(d, x, end + 1)\n"),
    ("4, tasks", "for i in range(k):\n", "for i in range(min(k + 1, self.m)):\n"),
    ("4, numbers", "u, self.m - j)", "u, min(self.m - j + 1, self.m))"),
    ("5, room", "* x[1] - self.room[d][x[0]]", "* x[1] - self.room[d][x[0]] + 1"),
    ("5a", "in givers) < need:", "in givers) <= need:"),
    ("5b", "-((others - need) // each))", "min(-((others - need) // each) + 1, _most))"),
    ("5c, least", "-((w * each_a - need) // each_b))", "min(-((w * each_a - need) // each_b) + 1, most_b + 1))"),
    ("5c, most", "for w in range(least_a, most_a + 1)", "for w in range(least_a, most_a)"),
    ("5c, latest", "end <= self.latest(d, x)):", "end < self.latest(d, x)):"),
    ("5c, start", "min(end for end, _counts in ways))", "min(end for end, _counts in ways) + 1)"),
    ("5c, numbers", "min(counts[v] for _end, counts in ways))", "min(self.m, min(counts[v] for _end, counts in ways) + 1))"),
    ("6", "y[1]] <= self.T:", "y[1]] < self.T:"),
    ("6, numbers", "v: y[1] + 1}.items()", "v: min(y[1] + 2, self.m)}.items()"),
    ("7, begun", "if self.h[d][v, i] < t]", "if self.h[d][v, i] + 1 < t]"),
    ("7, given", "self.h[d][v, i] + self.dur[v] < t)", "self.h[d][v, i] + self.dur[v] + 1 < t)"),
    ("7", "work + a + b > self.T", "work + a + b >= self.T"),
    ("8", "- time + 1)", "- time + 2)"),
    ("8, among few", "self.later(d, (u, j + shift), other.h[d][u, j])", "self.later(d, (u, j + shift), other.h[d][u, j] + 1)"),
    ("8, which few", "start = first if d == 0 else", "start = first + 1 if d == 0 else"),
]
TOO_LITTLE = [
    ("1, arcs", "self.dur[a] + lag)", "self.dur[a] + lag - 1)"),
    ("3", "            self.later(d, x, end)\n", "            self.later(d, x, end - 1)\n"),
    ("5, room", "* x[1] - self.room[d][x[0]]", "* x[1] - self.room[d][x[0]] - 1"),
    ("5b", "-((others - need) // each))", "-((others - need) // each) - 1)"),
    ("6", "y[1]] <= self.T:", "y[1]] <= self.T + 1:"),
    ("8", "- time + 1)", "- time)"),
]


def checker(old="", new=""):
    if old and SOURCE.count(old) != 1:
        sys.exit(f"rule_mutants.py: {old!r} stands {SOURCE.count(old)} times in check_certificate.py")
    module = types.ModuleType("checker")
    source = SOURCE.replace(old, new) if old else SOURCE
    exec(compile(source, "check_certificate.py", "exec"), module.__dict__)
    return module


def draw(dice):
    """A pipeline of 1 to 3 stages with one chunk each, or of 1 or 2 with two, in a loop or a V."""
    stages, vpp = dice.choice([(1, 1), (2, 1), (2, 1), (3, 1), (1, 2), (2, 2)])
    way = list(range(stages))
    placement = way * vpp if dice.random() < 0.5 else way + way[::-1] * (vpp - 1)
    splits, frees, m = dice.random() < 0.6, dice.random() < 0.5, dice.randint(1, 4)
    sequences, arcs = [], []
    passes = 3 if splits else 2
    for chunk, stage in enumerate(placement):
        size = dice.randint(1, 3)
        early = dice.randint(0, size) if frees else 0
        gives = [0, early, size - early] if splits else [0, size]
        for number in range(passes):
            sequences.append({"stage": stage, "duration": dice.randint(0, 4), "take": 0 if number else size,
                              "give": gives[number], "tail": dice.choice([0, 0, 2]) if number == passes - 1 else 0})
        at = passes * chunk
        if splits:
            arcs.append([at + 1, at + 2, 0])
        if chunk:
            lag = dice.choice([0, 1, 3]) if placement[chunk - 1] != stage else 0
            arcs += [[at - passes, at, lag], [at + 1, at - passes + 1, lag]]
    arcs.append([passes * (len(placement) - 1), passes * (len(placement) - 1) + 1, 0])
    least = [max(sum(s["take"] for s in sequences if s["stage"] == stage), 1) for stage in range(stages)]
    capacity = [None if dice.random() < 0.2 else need + dice.randint(0, 3) for need in least]
    return {"microbatches": m, "sequences": sequences, "arcs": arcs, "capacity": capacity}


def cases_of(truth, instance, best, dice):
    """Of tasks that cannot wait: they would have to start later than they can."""
    proof, m = truth.Proof(instance, best), instance["microbatches"]
    proof.propagate()
    critical = [(d, *x) for d in (0, 1) for x in proof.h[d] if proof.h[d][x] == proof.latest(d, x)]
    cases = []
    for d, u, j in dice.sample(critical, min(2, len(critical))):
        time = proof.h[d][u, j] + 1
        first = dice.randint(0, j)
        cases += [[d, u, j, time], [d, u, j, time, first, dice.randint(j + 1 - first, m - first)]]
    return cases


def drawn():
    """Instances with the makespan of their best order, and a case each."""
    truth, dice, found = checker(), random.Random(1), []
    while len(found) < INSTANCES:
        instance = draw(dice)
        if truth.orders_of(instance) > MOST_ORDERS:
            continue
        best = truth.shortest(instance)
        if best is not None:
            found.append((instance, best, [[]] + [[case] for case in cases_of(truth, instance, best, dice)]))
    return truth, found


def excludes(module, found):
    """How many instances it takes to exclude a best order; None if it never does."""
    for number, (instance, best, lists) in enumerate(found):
        if any(module.Proof(instance, best).proves(cases) for cases in lists):
            return number + 1
    return None


def main(files):
    truth, found = drawn()
    if excludes(truth, found):
        sys.exit("rule_mutants.py: the rules as they stand exclude a best order")
    bounds = [(i, best - 1, []) for i, best, _lists in found if truth.Proof(i, best - 1).proves([])]
    for file in files:
        certificate = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
        cases = certificate.get("proof", {}).get("cases", [])
        bounds.append((certificate["instance"], certificate["lower_bound"] - 1, cases))

    def leaves_open(module):
        return next((n + 1 for n, (i, most, cases) in enumerate(bounds) if not module.Proof(i, most).proves(cases)), None)

    if leaves_open(truth):
        sys.exit("rule_mutants.py: the rules as they stand do not prove a bound")
    noticed = [(f"{rule}: too much", excludes(checker(old, new), found)) for rule, old, new in TOO_MUCH]
    noticed += [(f"{rule}: too little", leaves_open(checker(old, new))) for rule, old, new in TOO_LITTLE]
    for change, after in noticed:
        print(f"rule {change}: {'goes unnoticed' if after is None else f'caught by the {after}. instance'}")
    print(f"{len(found)} instances, {len(bounds)} bounds")
    return 1 if None in (after for _change, after in noticed) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
