"""kineto_means.py PPSIM FOLDER: means of every pass and chunk in the profiles FOLDER/NAME-rankN.json.gz (gloo, on processors), held
against what 'ppsim import kineto' makes of them. Pairs, of which profiles have the whole alone, are left out. Exit status 1 where a
mean differs by more than a nanosecond.
"""

import collections
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tomllib

ppsim, folder = sys.argv[1], pathlib.Path(sys.argv[2])
KEYS = {"F": "forward", "B": "backward", "I": "input-grad", "W": "weight-grad"}
NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
runs = collections.defaultdict(list)
for path in sorted(folder.glob("*-rank*.json.gz")):
    runs[path.name.split("-rank")[0]].append(path)
compared = differ = 0
for name, paths in runs.items():
    times = collections.defaultdict(list)
    for path in paths:
        events = [e for e in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"] if e["ph"] == "X"]
        received = [(e["ts"], e["ts"] + e["dur"]) for e in events if e["name"] == "gloo:recv"]
        for event in events:
            if cell := re.fullmatch(r"PP:(\d+)([FBIW])(\d+)", event["name"]):
                begin, end = event["ts"], event["ts"] + event["dur"]
                # A task waits under its own name for a receive that was posted before it
                begin = max([begin] + [done for posted, done in received if posted < begin < done <= end])
                times[cell[2], int(cell[1])].append(1e3 * (end - begin))
        if any("OVERLAP" in e["name"] for e in events):
            times.clear()
            break
    done = subprocess.run([ppsim, "import", "kineto", *map(str, paths)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")
    costs = tomllib.loads(done.stdout)
    for (kind, chunk), durations in sorted(times.items()):
        there = sum(durations) / len(durations)
        number, unit = costs[KEYS[kind]][chunk].split()
        here = float(number) * NS[unit]
        compared += 1
        if abs(here - there) > 1:
            differ += 1
            print(f"differs: {name}, {kind} of chunk {chunk}: {here:.1f} ns here, {there:.1f} ns there")
print(f"profiles: {len(runs)} runs, {compared} means of tasks, {differ} differ")
sys.exit(1 if differ or not compared else 0)
