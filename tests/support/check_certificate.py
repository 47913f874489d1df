#!/usr/bin/env python3
"""check_certificate.py [--all-orders] FILE...: checks certificates (docs/synthesis.md) with nothing of ppsim.

Written from that page alone, rule by rule and as plainly as can be: for small ones. Prints a line for each file: "proven", or
"refuted" and why. Exit status 0 where all are proven, 3 where not, 2 where one is not a certificate. --all-orders tries every order
as well, of those that have at most 20000, and fails (1) where the best of them is shorter than a bound that was proven.
"""
import itertools
import json
import math
import sys


class Contradiction(Exception):
    pass


class Proof:
    """What is known of every order with a makespan of at most T. A task is (sequence, j); views are 0 and 1."""

    def __init__(self, instance, T):
        self.instance, self.sequences, self.m, self.T = instance, instance["sequences"], instance["microbatches"], T
        m, count = self.m, len(self.sequences)
        self.mates = [[v for v in range(count) if self.sequences[v]["stage"] == s["stage"]] for s in self.sequences]
        self.arcs = [[tuple(a) for a in instance["arcs"]], [(v, u, lag) for u, v, lag in instance["arcs"]]]
        self.dur = [s["duration"] for s in self.sequences]
        self.take = [[s["take"] for s in self.sequences], [s["give"] for s in self.sequences]]
        self.net = [[s["take"] - s["give"] for s in self.sequences], [s["give"] - s["take"] for s in self.sequences]]
        self.room = [[], []]
        for s in self.sequences:
            capacity = instance["capacity"][s["stage"]]
            left = sum(m * (o["take"] - o["give"]) for o in self.sequences if o["stage"] == s["stage"])
            self.room[0].append(capacity)
            self.room[1].append(None if capacity is None else capacity - left)
        self.h, self.n = [{}, {}], [{}, {}]
        for d in (0, 1):
            behind = [{u} for u in range(count)]  # what arcs lead to from u
            for _ in range(count):
                for u, v, _lag in self.arcs[d]:
                    for reached in behind:
                        if u in reached:
                            reached.add(v)
            for u, j in itertools.product(range(count), range(m)):
                self.h[d][u, j] = j * self.dur[u] + (self.sequences[u]["tail"] if d else 0)
                self.n[d][u, j] = {v: j if v == u else j + 1 if u in behind[v] else 0 for v in self.mates[u]}

    def latest(self, d, x):
        return self.T - self.dur[x[0]] - self.h[1 - d][x[0], self.m - 1 - x[1]]

    def most(self, d, x, v):
        return self.m - self.n[1 - d][x[0], self.m - 1 - x[1]][v]

    def later(self, d, x, time):
        if time > self.h[d][x]:
            self.h[d][x], self.changed = time, True
        if self.h[d][x] > self.latest(d, x):
            raise Contradiction(f"C1 at {x} in view {d}")

    def behind(self, d, x, v, count):
        if count > self.n[d][x][v]:
            self.n[d][x][v], self.changed = count, True
        if self.n[d][x][v] > (x[1] if v == x[0] else self.most(d, x, v)):
            raise Contradiction(f"C2 at {x} in view {d}")

    def end(self, d, counts):
        """end(S) of the first counts[v] tasks of each v."""
        t = None
        for h, dur in sorted((self.h[d][v, i], self.dur[v]) for v, c in counts.items() for i in range(c)):
            t = (h if t is None else max(t, h)) + dur
        return t

    def joined(self, *all_counts):
        return {v: max(c.get(v, 0) for c in all_counts) for v in all_counts[0]}

    def first(self, d, v, count):
        """The first tasks of v, and what is known before them."""
        return {**self.n[d][v, count - 1], v: count} if count else {}

    def cheap(self, d, x):
        u, j = x
        if j:
            self.later(d, x, self.h[d][u, j - 1] + self.dur[u])
        for a, b, lag in self.arcs[d]:
            if b == u:
                self.later(d, x, self.h[d][a, j] + self.dur[a] + lag)
        for before in [(u, j - 1)] * (j > 0) + [(v, k - 1) for v, k in self.n[d][x].items() if k and v != u]:
            for v, k in self.n[d][before].items():
                self.behind(d, x, v, k)
        end = self.end(d, self.n[d][x])
        if end is not None:
            self.later(d, x, end)
        for v, k in self.n[d][x].items():
            for i in range(k):
                if v != u:
                    self.behind(1 - d, (v, self.m - 1 - i), u, self.m - j)

    def givers(self, d, x):
        """What has to be given before x starts, and who can give how much: (v, least, most, each)."""
        net = self.net[d]
        need = self.take[d][x[0]] + net[x[0]] * x[1] - self.room[d][x[0]]
        need += sum(net[v] * k for v, k in self.n[d][x].items() if v != x[0] and net[v] > 0)
        return need, [(v, k, self.most(d, x, v), -net[v]) for v, k in self.n[d][x].items() if v != x[0] and net[v] < 0]

    def memory(self, d, x):
        if self.room[d][x[0]] is None:
            return
        need, givers = self.givers(d, x)
        if sum(most * each for _v, _least, most, each in givers) < need:
            raise Contradiction(f"C3 at {x} in view {d}")
        for v, _least, _most, each in givers:
            others = sum(m * e for o, _l, m, e in givers if o != v)
            self.behind(d, x, v, -((others - need) // each))
        for a, b in itertools.combinations(range(len(givers)), 2):
            self.two_givers(d, x, a, b)

    def two_givers(self, d, x, a, b):
        need, givers = self.givers(d, x)
        need -= sum(most * each for i, (_v, _least, most, each) in enumerate(givers) if i not in (a, b))
        (a, least_a, most_a, each_a), (b, least_b, most_b, each_b) = givers[a], givers[b]
        ways = []
        for w in range(least_a, most_a + 1):
            z = max(least_b, -((w * each_a - need) // each_b))
            counts = self.joined(self.n[d][x], self.first(d, a, w), self.first(d, b, z) if z <= most_b else {})
            fits = z <= most_b and all(k <= (x[1] if v == x[0] else self.most(d, x, v)) for v, k in counts.items())
            end = self.end(d, counts)
            if fits and (end is None or end <= self.latest(d, x)):
                ways.append((self.h[d][x] if end is None else end, counts))
        if not ways:
            raise Contradiction(f"C3 at {x} in view {d}, of two")
        self.later(d, x, min(end for end, _counts in ways))
        for v in self.n[d][x]:
            self.behind(d, x, v, min(counts[v] for _end, counts in ways))

    def two_orders(self, d, x):
        for v in self.mates[x[0]]:
            while v != x[0] and self.n[d][x][v] < self.most(d, x, v):
                y = (v, self.n[d][x][v])
                counts = self.joined(self.n[d][x], self.n[d][y], {x[0]: x[1] + 1})
                if self.end(d, counts) + self.dur[v] + self.h[1 - d][v, self.m - 1 - y[1]] <= self.T:
                    break
                for o, k in {**self.n[d][y], v: y[1] + 1}.items():
                    self.behind(d, x, o, k)

    def done_by(self, d, mates, t):
        """U(t) of the stage of these sequences."""
        tasks = [(v, i) for v in mates for i in range(self.m) if self.h[d][v, i] < t]
        if self.room[d][mates[0]] is None:
            return sum(self.dur[v] for v, _i in tasks)
        room = self.room[d][mates[0]] - sum(min(self.net[d][v], 0) for v, i in tasks if self.h[d][v, i] + self.dur[v] < t)
        work, room = sum(self.dur[v] for v, _i in tasks if self.net[d][v] <= 0), max(room, 0)
        takers = [v for v, _i in tasks if self.net[d][v] > 0]
        while takers:  # most work for its memory first, without fractions
            best = takers[0]
            for v in takers:
                if self.dur[v] * self.net[d][best] > self.dur[best] * self.net[d][v]:
                    best = v
            takers.remove(best)
            if self.net[d][best] > room:
                return work + self.dur[best] * room // self.net[d][best]
            work, room = work + self.dur[best], room - self.net[d][best]
        return work

    def idle_time(self):
        for mates in {tuple(mates) for mates in self.mates}:
            times = {0, self.T}  # where U changes, in either view
            for d, v, i in itertools.product((0, 1), mates, range(self.m)):
                for t in (self.h[d][v, i], self.h[d][v, i] + self.dur[v]):
                    times.add(t if d == 0 else self.T - t)
            times = sorted(t for t in times if 0 <= t <= self.T)
            idle = [[], []]
            for d in (0, 1):
                for t in times if d == 0 else [self.T - t for t in reversed(times)]:
                    idle[d].append(max(idle[d][-1:] + [t - self.done_by(d, mates, t)]))
            work = self.m * sum(self.dur[v] for v in mates)
            if any(work + a + b > self.T for a, b in zip(idle[0], reversed(idle[1]))):
                raise Contradiction(f"C4 on stage {self.sequences[mates[0]]['stage']}")

    def propagate(self):
        for d in (0, 1):
            for x in self.h[d]:
                self.later(d, x, 0)  # C1 of what is known at first
        self.changed = True
        while self.changed:
            self.changed = False
            for rule in (self.cheap, self.memory, self.two_orders):
                for d in (0, 1):
                    for x in self.h[d]:
                        rule(d, x)
            self.idle_time()

    def shows(self, d, u, j, time):
        """Whether (u, j) cannot start before that time; then it is known."""
        kept = [dict(h) for h in self.h], [{x: dict(n) for x, n in known.items()} for known in self.n]
        try:
            self.later(1 - d, (u, self.m - 1 - j), self.T - self.dur[u] - time + 1)
            self.propagate()
            return False
        except Contradiction:
            self.h, self.n = kept
        self.later(d, (u, j), time)
        self.propagate()
        return True

    def learn(self, other, first):
        """Starts that are known of another number of microbatches: its microbatch 0 is `first` here, forwards."""
        for d, shift in (0, first), (1, self.m - other.m - first):
            for u, j in other.h[d]:
                if 0 <= j + shift < self.m:
                    self.later(d, (u, j + shift), other.h[d][u, j])

    def may_leave_out(self):
        """Whether each microbatch holds 0 or more at any time, and in the end as much as at first."""
        for u, mates in enumerate(self.mates):
            if self.room[0][u] is not None:
                if sum(self.net[0][v] for v in mates):
                    return False
                if self.take[0][u] and any(self.net[0][v] < 0 and v != u and not self.n[0][v, 0][u] for v in mates):
                    return False
        return True

    def proves(self, cases):
        """Why it is impossible; or None."""
        may_leave_out = self.may_leave_out()
        try:
            self.propagate()
            for d, u, j, time, *among in cases:
                self.propagate()
                if not among:
                    if not self.shows(d, u, j, time):
                        return None
                    continue
                if not may_leave_out:
                    return None
                first, count = among
                start = first if d == 0 else self.m - first - count
                few = Proof({**self.instance, "microbatches": count}, self.T)
                few.learn(self, -start)
                few.propagate()
                self.learn(few, start)
                if not few.shows(d, u, j - first, time):
                    return None
                self.learn(few, start)
            self.propagate()
        except Contradiction as why:
            return str(why)
        return None


def makespan(instance, rows):
    """Of an order; or None where it is not complete, does not fit or does not run."""
    sequences, m = instance["sequences"], instance["microbatches"]
    for stage, row in enumerate(rows):
        held = 0
        if sorted(row) != sorted(v for v, s in enumerate(sequences) if s["stage"] == stage for _ in range(m)):
            return None
        for v in row:
            held += sequences[v]["take"]
            if instance["capacity"][stage] is not None and held > instance["capacity"][stage]:
                return None
            held -= sequences[v]["give"]
    ends, free, rows = [[] for _ in sequences], [0] * len(rows), [list(row) for row in rows]
    ran = True
    while ran:
        ran = False
        for stage, row in enumerate(rows):
            into = [(u, lag) for u, v, lag in instance["arcs"] if row and v == row[0]]
            if row and all(len(ends[u]) > len(ends[row[0]]) for u, _lag in into):
                v, ran = row.pop(0), True
                start = max([free[stage]] + [ends[u][len(ends[v])] + lag for u, lag in into])
                free[stage] = start + sequences[v]["duration"]
                ends[v].append(free[stage])
    return None if any(rows) else max(e[-1] + s["tail"] for e, s in zip(ends, sequences))


def merges(counts):
    """All rows with so many of each."""
    if not any(counts.values()):
        yield []
    for v in counts:
        if counts[v]:
            for rest in merges({**counts, v: counts[v] - 1}):
                yield [v] + rest


def orders_of(instance):
    """How many there are, whether they fit and run or not."""
    tasks, orders = [0] * len(instance["capacity"]), 1
    for s in instance["sequences"]:
        tasks[s["stage"]] += instance["microbatches"]
        orders *= math.comb(tasks[s["stage"]], instance["microbatches"])
    return orders


def shortest(instance):
    rows = [list(merges({v: instance["microbatches"] for v, s in enumerate(instance["sequences"]) if s["stage"] == stage}))
            for stage in range(len(instance["capacity"]))]
    found = [makespan(instance, order) for order in itertools.product(*rows)]
    return min((time for time in found if time is not None), default=None)


def check(certificate):
    """What is wrong, in words; empty where nothing is."""
    cases, m = certificate.get("proof", {}).get("cases", []), certificate["instance"]["microbatches"]
    for d, u, j, time, *among in cases:
        first, count = among or (0, m)
        if d not in (0, 1) or not 0 <= u < len(certificate["instance"]["sequences"]) or time < 0:
            raise ValueError(f"a case of sequence {u} in view {d} before {time}")
        if not 0 <= first <= j < first + count <= m:
            raise ValueError(f"a case of microbatch {j} among {count} from {first} on")
    if certificate["order"] is not None:
        found = makespan(certificate["instance"], certificate["order"])
        if found is None or found != certificate["makespan"]:
            return f"the makespan of its order is {found} and not {certificate['makespan']}"
        if found < certificate["lower_bound"]:
            return "its order is shorter than the bound"
    proof = Proof(certificate["instance"], certificate["lower_bound"] - 1)
    return "" if proof.proves(cases) else "the bound is not proven"


def main(arguments):
    status = 0
    for name in (a for a in arguments if a != "--all-orders"):
        try:
            with open(name, encoding="utf-8") as file:
                certificate = json.load(file)
            if (certificate["kind"], certificate["schema"]) != ("ppsim-certificate", 1):
                raise ValueError("no certificate of schema 1")
            wrong = check(certificate)
            if "--all-orders" in arguments and not wrong and orders_of(certificate["instance"]) <= 20000:
                best = shortest(certificate["instance"])
                if best is not None and best < certificate["lower_bound"]:
                    sys.exit(f"{name}: proven, and there is an order of {best}")
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            print(f"{name}: no certificate: {error!r}")
            return 2
        print(f"{name}: refuted: {wrong}" if wrong else f"{name}: proven")
        status = 3 if wrong else status
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
