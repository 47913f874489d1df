"""The build backend of pyproject.toml (PEP 517): cmake builds the module, zipfile the wheel. It needs what compiling the
program needs (README.md) and the headers of Python and pybind11 (python3-dev, pybind11-dev); nothing else, and no network.

A build of its own in build/wheel is kept, so that a second one is quick. From the environment: CMAKE_ARGS goes to cmake;
PPSIM_BUILD_DIR names a build that has the module (target ppsim_python) and is taken as it is.
"""

import base64
import hashlib
import io
import os
import pathlib
import re
import shlex
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXT = ROOT / "CMakeLists.txt"


def _version():
    return re.search(r"project\(ppsim VERSION ([0-9.]+)", TEXT.read_text()).group(1)


def _metadata():
    project = (ROOT / "pyproject.toml").read_text()

    def field(name):
        return re.search(rf'^{name} = "(.*)"$', project, re.MULTILINE).group(1)

    numpy = re.search(r'^arrays = \["(.*)"\]$', project, re.MULTILINE).group(1)
    return (f"Metadata-Version: 2.1\nName: ppsim\nVersion: {_version()}\nSummary: {field('description')}\n"
            f"Requires-Python: {field('requires-python')}\nLicense: Apache-2.0\nProvides-Extra: arrays\n"
            f"Requires-Dist: {numpy}; extra == 'arrays'\nDescription-Content-Type: text/markdown\n\n"
            f"{(ROOT / 'README.md').read_text()}")


def _tag():
    version = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    return f"{version}-{version}-{platform}"


def _compile():
    """The folder of the package that cmake has built."""
    if "PPSIM_BUILD_DIR" in os.environ:
        return pathlib.Path(os.environ["PPSIM_BUILD_DIR"]) / "python" / "ppsim"
    folder = ROOT / "build" / "wheel"
    options = ["-D", "CMAKE_BUILD_TYPE=Release", "-D", "PPSIM_BUILD_TESTS=OFF", "-D", "PPSIM_BUILD_BENCH=OFF",
               "-D", "PPSIM_PLUGINS=OFF", "-D", "PPSIM_WERROR=AUTO", "-D", "PPSIM_PYTHON_MODULE=ON",
               "-D", f"Python_EXECUTABLE={sys.executable}", *shlex.split(os.environ.get("CMAKE_ARGS", ""))]
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *options], check=True)
    if not (folder / "python" / "ppsim").is_dir():
        raise SystemExit("ppsim: error: no headers of pybind11 or of this Python were found\n"
                         "ppsim: hint: apt install pybind11-dev python3-dev")
    subprocess.run(["cmake", "--build", folder, "--target", "ppsim_python"], check=True)
    return folder / "python" / "ppsim"


class _Wheel:
    """A wheel being written: a zip file with a list of digests."""

    def __init__(self, path):
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self._record = []

    def add(self, name, content):
        info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))  # the same bytes from the same files
        info.external_attr = 0o644 << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self._zip.writestr(info, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self._record.append(f"{name},sha256={digest},{len(content)}")

    def close(self, record):
        self._zip.writestr(zipfile.ZipInfo(record, (2020, 1, 1, 0, 0, 0)), "\n".join([*self._record, f"{record},,", ""]))
        self._zip.close()


def _wheel_text():
    return f"Wheel-Version: 1.0\nGenerator: ppsim\nRoot-Is-Purelib: false\nTag: {_tag()}\n"


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Without this, pip compiles the package to find its name."""
    name = f"ppsim-{_version()}.dist-info"
    folder = pathlib.Path(metadata_directory) / name
    folder.mkdir()
    (folder / "METADATA").write_text(_metadata())
    (folder / "WHEEL").write_text(_wheel_text())
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    package = _compile()
    name = f"ppsim-{_version()}-{_tag()}.whl"
    wheel = _Wheel(pathlib.Path(wheel_directory) / name)
    for path in sorted(package.iterdir()):
        if path.suffix in (".py", ".pyi", ".so", ".typed"):
            wheel.add(f"ppsim/{path.name}", path.read_bytes())
    info = f"ppsim-{_version()}.dist-info"
    wheel.add(f"{info}/METADATA", _metadata().encode())
    wheel.add(f"{info}/WHEEL", _wheel_text().encode())
    wheel.add(f"{info}/LICENSE", (ROOT / "LICENSE").read_bytes())
    wheel.close(f"{info}/RECORD")
    return name


def build_sdist(sdist_directory, config_settings=None):
    """The files that git tracks."""
    base = f"ppsim-{_version()}"
    tracked = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True, text=True).stdout
    with tarfile.open(pathlib.Path(sdist_directory) / f"{base}.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path in filter(None, tracked.split("\0")):
            archive.add(ROOT / path, f"{base}/{path}", recursive=False)
        content = _metadata().encode()
        entry = tarfile.TarInfo(f"{base}/PKG-INFO")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return f"{base}.tar.gz"
