"""What the tests of the module share."""

import json
import os
import pathlib
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ["PPSIM_PROGRAM"]
SLACK = float(os.environ.get("PPSIM_TEST_SLACK", "1"))  # of times, on machines that do much else, or with sanitizers


def program(command, *arguments):
    """What the program says as JSON."""
    words = [PROGRAM, command, *arguments, "--json"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    if done.returncode not in (0, 3) or not done.stdout:
        raise AssertionError(f"{shlex.join(map(str, words))}: {done.returncode}\n{done.stderr}")
    return done.stdout


def keywords(line):
    """Of the options of a command line."""
    options, words = {}, shlex.split(line)
    while words:
        name = words.pop(0)[2:].replace("-", "_")
        options[name] = words.pop(0) if words and not words[0].startswith("--") else True
    return options


def loads(text):
    return json.loads(text)
