# Tests what `make` prints while it builds: in a pipe nothing about a quick build, on a terminal one line that
# is redrawn, and after a failed build all its output and its exit code. Tests which build folder it makes
# without tests.
progress=$TESTS/../../tools/progress.sh
bash "$progress" log building sh -c 'echo "[1/2] Building C object"; echo "[2/2] Linking"'
echo "exit $?"
cat log
bash "$progress" log building sh -c 'echo "[1/2] Building C object"; echo "x.c:1: error"; exit 3'
echo "exit $?"
echo "-- make leaves the tests of a build folder as they are"
root=$(cd "$TESTS/../.." && pwd)
env -u MAKEFLAGS make -n -f "$root/Makefile" build | grep -c 'AK_TESTS=OFF'
mkdir -p build/release
touch build/release/CMakeCache.txt
env -u MAKEFLAGS make -n -f "$root/Makefile" wheel | grep -oE 'cmake -S|AK_TESTS=[A-Z]*'
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
python3 - "$TESTS" "$progress" <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[1])
import pty_run
code, text = pty_run.run(f"bash {sys.argv[2]} log building sh -c 'echo \"[1/2] Building C object\"'", 80)
print(code, "building [1/2]" in text, text.count("\n"))
PYTHON
