"""pip install . without a network gives a package that works: with what the build has compiled already."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import ppsim
from support import ROOT


@unittest.skipUnless(importlib.util.find_spec("pip"), "there is no pip")
class Wheel(unittest.TestCase):
    def test_pip_install(self):
        build = pathlib.Path(ppsim.__file__).resolve().parents[2]
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "PPSIM_BUILD_DIR": str(build), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
            del environment["PYTHONPATH"]
            done = subprocess.run([sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-index", "--target", folder,
                                   str(ROOT)], capture_output=True, text=True, env=environment)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            says = "import ppsim; print(ppsim.__file__, ppsim.simulate(stages=4, mb=8).step_time_ns)"
            run = subprocess.run([sys.executable, "-c", says], capture_output=True, text=True, cwd=folder,
                                 env={**environment, "PYTHONPATH": folder})
            self.assertEqual(run.stdout.split(), [f"{folder}/ppsim/__init__.py", "33000000"], run.stderr)
            files = {path.name.split(".")[0] + path.suffix for path in pathlib.Path(folder, "ppsim").iterdir()}
            self.assertLessEqual({"_core.so", "__init__.py", "__init__.pyi", "torch.py", "py.typed"}, files)
            version = subprocess.run([sys.executable, "-m", "pip", "list", "--path", folder], capture_output=True, text=True).stdout
            self.assertRegex(version, rf"ppsim\s+{ppsim.__version__}")


if __name__ == "__main__":
    unittest.main()
