#!/usr/bin/env python3
"""Builds the wheel of the Python package: a zip file of python/autokernel, the executable, the shared
runtime, its sources, the manual page and completions, by nothing but the standard library. Equal inputs
give equal bytes.

Usage: wheel.py EXECUTABLE RUNTIME.so FOLDER      prints the path of the wheel
"""

import base64
import hashlib
import platform
import re
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def glibc_of(*files):
    """Returns the newest version of glibc that one of the files needs: "2_34"."""
    found = [(2, 17)]
    for file in files:
        text = subprocess.run(["objdump", "-T", file], capture_output=True, text=True,
                              check=True).stdout
        found += [(int(a), int(b)) for a, b in re.findall(r"GLIBC_(\d+)\.(\d+)", text)]
    return "%d_%d" % max(found)


def shared(executable):
    """Returns what is installed below share/, as `make install` does."""
    places = {"man": "man/man1/autokernel.1", "bash": "bash-completion/completions/autokernel",
              "zsh": "zsh/site-functions/_autokernel",
              "fish": "fish/vendor_completions.d/autokernel.fish"}
    files = {place: subprocess.run([executable, "help", "--format", what], capture_output=True,
                                   check=True).stdout for what, place in places.items()}
    for name in ("ak_runtime.h", "ak_runtime.c"):
        files[f"autokernel/runtime/{name}"] = (ROOT / "runtime" / name).read_bytes()
    return files


def main():
    executable, runtime, folder = sys.argv[1:4]
    version = re.search(r'__version__ = "(.*)"',
                        (ROOT / "python/autokernel/__init__.py").read_text()).group(1)
    tag = f"py3-none-manylinux_{glibc_of(executable, runtime)}_{platform.machine()}"
    info = f"autokernel-{version}.dist-info"
    files = {f"autokernel/{path.name}": (path.read_bytes(), 0o644)
             for path in sorted((ROOT / "python/autokernel").glob("*.py"))}
    files["autokernel/py.typed"] = (b"", 0o644)
    files["autokernel/libautokernel_runtime.so"] = (Path(runtime).read_bytes(), 0o755)
    files["autokernel/bin/autokernel"] = (Path(executable).read_bytes(), 0o755)
    files |= {f"autokernel-{version}.data/data/share/{place}": (data, 0o644)
              for place, data in shared(executable).items()}
    # pip writes the script of an entry point, which also works where the path of Python has a blank.
    files[f"{info}/entry_points.txt"] = (
        b"[console_scripts]\nautokernel = autokernel._command:main\n", 0o644)
    files[f"{info}/licenses/LICENSE"] = ((ROOT / "LICENSE").read_bytes(), 0o644)
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: autokernel\nVersion: {version}\n"
        "Summary: Makes compute kernels fast, and runs the winners\nLicense: MIT\n"
        "Requires-Python: >=3.9\nRequires-Dist: numpy\n".encode(), 0o644)
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: autokernel\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
        0o644)
    record = "".join(
        "%s,sha256=%s,%d\n" % (name, base64.urlsafe_b64encode(
            hashlib.sha256(data).digest()).rstrip(b"=").decode(), len(data))
        for name, (data, _) in files.items()) + f"{info}/RECORD,,\n"
    files[f"{info}/RECORD"] = (record.encode(), 0o644)
    path = Path(folder) / f"autokernel-{version}-{tag}.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, (data, mode) in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    print(path)


main()
