#!/usr/bin/env bash
# References that are Python functions, with NumPy in a virtual environment that is kept in FOLDER.
# Usage: reference.sh EXECUTABLE FOLDER; exit code 77: no Python, or NumPy cannot be installed
set -u
executable=$(realpath "$1")
. "$(dirname "$0")/../interop/venv.sh"
shared_venv "$2" "import numpy.testing, pytest" numpy==2.2.6 pytest # as run.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export AUTOKERNEL_PYTHON=$venv/bin/python AUTOKERNEL_ARCHIVE=$scratch/archive.db
brief
export OPENBLAS_NUM_THREADS=1 # NumPy's would start, and wait for work, in each of the many processes
bad=0
# expect TEXT FUNCTION: the check of the kernel says TEXT
expect() {
    sed -i "s#\"reference\": .*#\"reference\": \"reference.py$2\",#" mine/problem.json
    "$executable" check ./mine --configs 0 --size n=64 --quiet >log 2>&1
    grep -qF -- "$1" log || { echo "reference.py$2: expected: $1"; cat log; bad=1; }
}
"$executable" new kernel mine >/dev/null
cat >mine/helper.py <<'P'
def twice(x): return 2 * x
P
cat >mine/reference.py <<'P'
import helper
import numpy as np
def reference(X, Y): return helper.twice(X) + Y
def in_place(X, Y, Z): Z[:] = 2 * X + Y
def named(X, Y, n): return {"Z": [2 * X[i] + Y[i] for i in range(n)]}
def wrong(X, Y, dtype="f64"): return 2 * X + Y + (dtype == "f32")
def zero(X): return 0 * X
def raises(X):
    return X / []
def short(X): return X[:-1]
def odd(X, W): return X
def silent(X): pass
def words(X): return ["x"] * len(X)
def masked(X, Y): return np.ma.array(2 * X + Y, mask=[True] * len(X))
def other(X, Y): return {"Z": 2 * X + Y, "W": X}
def surrogate(X): raise ValueError("a\udcff")
def reads(X): return np.array([float(len(open("/etc/passwd").read()))] * len(X))
def calls(X):
    import socket
    socket.socket()
def dies(X):
    import signal
    signal.raise_signal(signal.SIGKILL)
def forks(X):
    import os
    os.fork() or os._exit(0)
    return X
P
expect "1 of 1 configuration is right" ""
expect "reference: Python function reference.py:reference" ""
expect "1 of 1 configuration is right" ":in_place"
expect "1 of 1 configuration is right" ":named"
expect "0 of 1 configuration" ":wrong"
expect "the right result of Z is zeros" ":zero"
expect "mine: reference.py:9: " ":raises"
expect "reference.py: Z has the shape (63,); it should be (64,)" ":short"
expect "the parameter W of odd is neither an argument nor a size nor an option" ":odd"
expect "the function returns nothing and has no parameter Z to write to" ":silent"
expect "Z holds <U1, not numbers" ":words"
expect "reference.py: Z is a masked array" ":masked"
expect "reference.py: the result has 'W', which is no output; there are: Z" ":other"
expect "mine: reference.py:16: ValueError: a?" ":surrogate"
expect "Permission denied: '/etc/passwd'" ":reads"
expect "Operation not permitted" ":calls"
expect "Operation not permitted" ":forks"
expect "the Python process of the reference ended: signal 9 (Killed)" ":dies"
expect "reference.py defines no function nothing" ":nothing"
cat >mine/reference.py <<'P'
import importlib
def reference(X, Y): return importlib.import_module("hel" + "per").twice(X) + Y
P
expect "mine: reference.py: helper.py is imported, but is not mentioned by its name" ""
echo 'def reference(' >mine/reference.py
expect "reference.py:1: SyntaxError" ""
echo 'raise SystemExit(3)' >mine/reference.py
expect "reference.py:1: SystemExit: 3" ""

# Functions of Python as baselines: beside the candidates, and right or not.
cat >mine/base.py <<'P'
import helper
import numpy as np
def in_place(X, Y, Z):
    np.multiply(X, 2, out=Z)
    Z += Y
def returns(X, Y): return helper.twice(X) + Y
def named(X, Y, n, dtype): return {"Z": 2 * X[:n] + Y if dtype == "f32" else None}
def wrong(X): return X
def raises(X): return X / []
def short(X): return X[:-1]
def odd(X, W): return X
def dies(X):
    import os
    os._exit(3)
def compiles(X):
    import subprocess
    try:
        subprocess.run(["gcc", "--version"], check=True)
    except OSError as error:
        raise RuntimeError("the back end failed") # what a library may make of it
def reached():
    """Counts what a baseline must not reach; it may start threads."""
    import os, signal, socket, subprocess, threading
    home, here = os.environ["HOME"], os.path.dirname(os.path.abspath(__file__))
    def forks():
        child = os.fork()
        if child == 0:
            os._exit(0)
    attempts = [lambda: open(home + "/secret").read(), lambda: open(home + "/made", "w"),
                lambda: open(here + "/made", "w"), lambda: open("/dev/shm/autokernel-made", "w"),
                lambda: open(here + "/base.py", "a"), lambda: os.remove(here + "/base.py"),
                lambda: open("/etc/passwd").read(), lambda: os.listdir("/proc"),
                lambda: socket.socket(), lambda: socket.socket(socket.AF_UNIX), forks,
                lambda: os.posix_spawn("/bin/true", ["true"], {}), lambda: subprocess.run(["true"]),
                lambda: os.kill(os.getppid(), 0)]
    count = 0
    for i, attempt in enumerate(attempts):
        try:
            attempt()
            count += 1 << i
        except OSError:
            pass
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
    return count
EARLY = reached()
def spies(X, Y): return 2 * X + Y + EARLY + reached()
P
echo secret >"$scratch/secret"
export HOME=$scratch
# baseline TEXT FUNCTION: the comparison says TEXT
baseline() {
    sed -i "s#\"reference\": .*#\"reference\": \"reference.c\", \"baselines\": [{\"name\": \"base\", \"python\": \"base.py:$2\"}],#" mine/problem.json
    "$executable" compare ./mine --size n=64 --time 0.2s >log 2>&1
    grep -qE -- "$1" log || { echo "base.py:$2: expected: $1"; cat log; bad=1; }
}
for name in in_place returns named; do
    baseline "^base \(own\) Python [0-9a-f]{8}, NumPy 2.2.6 +[0-9.]+ " $name
done
# Its version changes with the modules that it imports.
version() { baseline "^base \(own\) Python [0-9a-f]{8}, NumPy 2.2.6 +[0-9.]+ " named; grep -oE "Python [0-9a-f]{8}" log; }
sed -i '1i import beside' mine/base.py
echo "A = 1" >mine/beside.py
first=$(version) again=$(version)
echo "A = 2" >mine/beside.py
[ -n "$first" ] && [ "$first" = "$again" ] && [ "$first" != "$(version)" ] || { echo "the version of a baseline: $first"; bad=1; }
sed -i 1d mine/base.py
baseline "^base .* failed .*Z\[0\]" wrong
baseline "^base .* failed +base.py:9: " raises
baseline "^base .* failed +base.py: Z has the shape \(63,\); it should be \(64,\)" short
baseline "^autokernel: .*the parameter W of odd is neither" odd
baseline "^base .* failed +the Python baseline ended: exit code 3" dies
baseline "^autokernel: .*base.py defines no function nothing" nothing
# Confined: the result is right only if nothing was reached.
baseline "^base \(own\) Python [0-9a-f]{8}, NumPy 2.2.6 +[0-9.]+ " spies
[ -e "$scratch/made" ] || [ -e mine/made ] || [ -e /dev/shm/autokernel-made ] && { echo "a baseline wrote a file"; bad=1; }
baseline "^base .* failed +base.py:2[0-9]: RuntimeError: the back end failed; it wanted to start a process \\(gcc\\), which a baseline may not: " compiles

# An exception is told of a kernel that works in place, too; an option that is a whole number is an int.
cp mine/problem.json problem.json
cat >mine/base.py <<'P'
def adds(X, Y, Z, step): Z += 2 * X[::step] + Y
def fails(X, Y, Z, step): Z += X / []
P
sed -i 's/"access": "out"/"access": "inout"/; s/"choices": \[\]/"choices": [{"name": "step", "type": "int", "default": 1}]/' mine/problem.json
cp mine/reference.c reference.c
sed -i 's/z\[i\] = /z[i] += /' mine/reference.c
cp mine/host.c host.c
sed -i 's/z\[i\] = /z[i] += /' mine/host.c
baseline "^base \(own\) Python [0-9a-f]{8}, NumPy 2.2.6 +[0-9.]+ " adds
baseline "^base .* failed +base.py:2: " fails
cp problem.json reference.c host.c mine

# Whole numbers come as int64, so that sums of bytes do not wrap, and baselines get them as they are. What an output
# cannot hold is refused.
mkdir bytes
cat >bytes/problem.json <<'J'
{ "schema": 1, "name": "bytes", "sizes": [{"name": "n", "default": 64}], "dtypes": ["u8"],
  "arguments": [{"name": "X", "shape": ["n"], "access": "in", "fill": "uniform(0,255)"},
                {"name": "Y", "shape": ["n"], "access": "out"}],
  "flops": "n", "bytes": "2*n",
  "reference": "reference.py",
  "awkward": [] }
J
cat >bytes/host.c <<'C'
#include <stdint.h>
void half(const uint8_t *x, uint8_t *y, uint64_t n) { for (uint64_t i = 0; i < n; i++) { y[i] = (uint8_t)((x[i] + 255) / 2); } }
C
cat >bytes/host.json <<'J'
{ "ConfigurationSpace": {"TuningParameters": [{"Name": "LEVEL", "Values": [1, 2], "Use": "option", "Option": "-O{}"}]},
  "KernelSpecification": {"Language": "C", "KernelName": "half", "KernelFile": "host.c",
    "Launch": {"Arguments": [{"Buffer": "X"}, {"Buffer": "Y"}, {"UInt64": "n"}]}} }
J
cat >bytes/reference.py <<'P'
import numpy as np
def reference(X): return (X + 255) // 2
def wraps(X): return (X.astype(np.uint8) + np.uint8(255)) // 2
def large(X): return X + 255
def fractions(X): return (X + 255) / 2
P
cat >bytes/base.py <<'P'
def half(X, Y):
    assert X.dtype == Y.dtype == "uint8"
    Y[:] = (X.astype("uint16") + 255) // 2
P
bytes() { # TEXT FUNCTION
    sed -i "s#\"reference\": .*#\"reference\": \"reference.py$2\",#" bytes/problem.json
    "$executable" check ./bytes --configs 0 --quiet >log 2>&1
    grep -qE -- "$1" log || { echo "bytes, reference.py$2: expected: $1"; cat log; bad=1; }
}
bytes "1 of 1 configuration is right" ""
bytes "0 of 1 configuration" ":wraps"
bytes "the reference gives [0-9]+ at Y\[[0-9]+\] \(n=64\); results of u8 are whole numbers from 0 to 255" ":large"
bytes "refuses the reference itself, rounded to u8: Y\[[0-9]+\] is [0-9]+ instead of [0-9]+\.5" ":fractions"
sed -i 's#"reference": .*#"reference": "reference.py", "baselines": [{"name": "base", "python": "base.py:half"}],#' bytes/problem.json
"$executable" compare ./bytes --time 0.2s >log 2>&1
grep -qE "^base \(own\) Python [0-9a-f]{8}, NumPy 2.2.6 +[0-9.]+ " log || { echo "a baseline of bytes"; cat log; bad=1; }
exit $bad
