"""The examples of the documents run; the stubs say what is there."""

import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

import ppsim
from support import ROOT

PACKAGE = Path(ppsim.__file__).parent


class Examples(unittest.TestCase):
    def setUp(self):
        os.chdir(ROOT)

    def test_the_document(self):
        blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)
        self.assertTrue(blocks)
        for block in blocks:
            exec(compile(block, "docs/python.md", "exec"), {})

    def test_notebooks(self):
        """The code cells, one after another, as a notebook runs them."""
        for path in (ROOT / "docs" / "examples").glob("*.ipynb"):
            names = {}
            for number, cell in enumerate(json.loads(path.read_text())["cells"]):
                if cell["cell_type"] == "code":
                    self.assertEqual(cell["outputs"], [], f"{path.name}: cell {number} holds output")
                    exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), names)

    def test_every_member_of_a_result_is_in_the_table(self):
        table = (ROOT / "docs" / "python.md").read_text()
        for name in [name for name in dir(ppsim.Run) if not name.startswith("_")]:
            if name not in ("stages", "microbatches", "vpp", "schedule"):
                self.assertIn(f"`{name}", table)


class Stubs(unittest.TestCase):
    def test_every_option(self):
        stub = (PACKAGE / "__init__.pyi").read_text()
        for option in ("memory_limit", "for_", "global_batch", "placement"):
            self.assertRegex(stub, rf"\n    {option}: ")
        self.assertNotRegex(stub, r"\n    for: ")
        compile(stub, "__init__.pyi", "exec")

    def test_mypy(self):
        try:
            import mypy  # noqa: F401
        except ImportError:
            self.skipTest("there is no mypy")
        checks = ([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(PACKAGE.parent / ".mypy_cache"), str(PACKAGE)],
                  [sys.executable, "-m", "mypy.stubtest", "ppsim", "--ignore-missing-stub", "--allowlist",
                   str(Path(__file__).parent / "stubtest.txt")])
        for check in checks:
            done = subprocess.run(check, capture_output=True, text=True, cwd=PACKAGE.parent)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
