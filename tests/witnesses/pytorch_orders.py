"""pytorch_orders.py PPSIM FOLDER: orders of ppsim for pytorch.py, with an index of what ppsim says of each. Needs no PyTorch.

FOLDER/index.json is {"orders": [...], "train": [...], "hang": [...], "profile": [...]}; files are named beside it.
"""

import json
import pathlib
import random
import subprocess
import sys

ppsim, folder = sys.argv[1], pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
refused = 0


def run(*arguments, statuses=(0,)):
    done = subprocess.run([ppsim, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode not in statuses:
        sys.exit(f"ppsim {' '.join(map(str, arguments))}: exit status {done.returncode}\n{done.stderr}")
    return done.returncode, done.stdout


def write(schedule, stages, mb, options=(), lowering="pytorch", versions=("2.14",)):
    """An order with and without sends and receives; None where ppsim does not take the shape."""
    global refused
    name = "-".join([schedule, f"p{stages}", f"m{mb}", *(str(o).strip("-") for o in options), lowering])
    arguments = ["--schedule", schedule, "--stages", stages, "--mb", mb, *options]
    status, _ = run(*arguments, "--csv", folder / f"{name}.csv", statuses=(0, 2))
    if status:
        refused += 1
        return None
    for version in versions:
        file = folder / (f"{name}.comms.csv" if version == "2.14" else f"{name}.comms-{version}.csv")
        run(*arguments, "--lowering", lowering, "--pytorch-version", version, "--csv-comms", file)
    return {"name": name, "schedule": schedule, "stages": stages, "mb": mb}


def verdicts(file):
    """What 'ppsim check' says of a file, by kind of communicator; None where it is no order."""
    status, text = run("check", "--json", file, statuses=(0, 2, 3))
    if status == 2 or not json.loads(text)["valid"]:
        return None
    says = json.loads(text)["p2p"]
    return {p2p: "hangs" if says[p2p]["hangs"] else "astray" if "mismatch" in says[p2p] else "runs" for p2p in says}


# Every schedule whose chunks have one copy each, that is all but dualpipe and chimera
schedules = [(name, ()) for name in ("sequential gpipe 1f1b eager-1f1b zb-h1 zb-h2 zb-auto zb-v v-half v-min v-auto dualpipe-v".split())]
schedules += [(name, ("--vpp", v)) for name in ("interleaved", "looped-bfs", "zb-interleaved", "sequential") for v in (2, 3)]
schedules += [("hanayo", ("--vpp", v)) for v in (2, 4)]
index = {"orders": [], "train": [], "hang": [], "profile": []}
for stages in (2, 3, 4, 8):
    for mb in sorted({2, 3, stages, stages + 1, 2 * stages, 4 * stages}):
        for schedule, options in schedules:
            entry = write(schedule, stages, mb, options, versions=("2.14", "2.6"))
            if entry:
                index["orders"].append(entry)
        if mb < stages or mb % max(1, mb // stages) == 0: # groups as PyTorch makes them
            for v in (2, 3):
                group = mb // max(1, mb // stages)
                entry = write("interleaved", stages, mb, ("--vpp", v, "--group-size", group), versions=("2.14",))
                if entry:
                    index["orders"].append(entry | {"pytorch_groups": True})

for stages, mb in ((2, 4), (4, 4), (4, 8)):
    for schedule, options in schedules:
        if schedule in ("sequential", "zb-auto", "v-auto") or 3 in options:
            continue
        entry = write(schedule, stages, mb, options)
        if entry:
            index["train"].append(entry)

# Orders whose sends and receives other lowerings place, and some of PyTorch's with neighbours swapped at random
random.seed(18)
seen = set()


def add_hang(name, text):
    (folder / name).write_text(text)
    says = verdicts(folder / name)
    if says and text not in seen:
        seen.add(text)
        index["hang"].append({"name": name, "says": says})


for schedule, options in (("1f1b", ()), ("interleaved", ("--vpp", 2)), ("zb-v", ()), ("looped-bfs", ("--vpp", 2)), ("hanayo", ("--vpp", 2))):
    for stages, mb in ((2, 4), (3, 3), (4, 4)):
        for lowering in ("pytorch", "edge", "eager", "just-in-time"):
            entry = write(schedule, stages, mb, options, lowering)
            if not entry:
                continue
            text = (folder / f"{entry['name']}.comms.csv").read_text()
            add_hang(f"{entry['name']}.given.csv", text)
            if lowering != "pytorch":
                continue
            for change in range(3):
                rows = [line.split(",") for line in text.splitlines()]
                for _ in range(1 + change):
                    row = random.choice(rows)
                    at = random.choice([i for i in range(len(row) - 1) if "SEND" in row[i] or "RECV" in row[i]])
                    row[at], row[at + 1] = row[at + 1], row[at]
                add_hang(f"{entry['name']}.swapped{change}.csv", "".join(",".join(row) + "\n" for row in rows))

for schedule, stages, mb, options in (("1f1b", 2, 4, ()), ("interleaved", 2, 4, ("--vpp", 2)), ("zb-v", 4, 4, ()), ("dualpipe-v", 2, 4, ())):
    index["profile"].append(write(schedule, stages, mb, options))

(folder / "index.json").write_text(json.dumps(index))
print(f"{len(index['orders'])} orders ({refused} shapes are not taken), {len(index['train'])} to train, {len(index['hang'])} to hang or not")
