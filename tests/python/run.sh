#!/usr/bin/env bash
# The Python package: its wheel is built, installed into a virtual environment in FOLDER with NumPy and
# pytest from PyPI, and tested there; where these cannot be had, the test skips itself.
# Usage: run.sh EXECUTABLE RUNTIME FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
executable=$(realpath "$1") runtime=$(realpath "$2")
mkdir -p "$3"
folder=$(cd "$3" && pwd)
venv=$folder/venv
wanted="numpy pytest"
skip() { echo "skip: $*"; exit 77; }

command -v python3 >/dev/null || skip "no python3"
command -v gcc >/dev/null || skip "no gcc"
command -v objdump >/dev/null || skip "no objdump"
if [ "$(cat "$venv/ready" 2>/dev/null)" != "$wanted $venv" ]; then
    rm -rf "$venv"
    python3 -m venv "$venv" >"$folder/venv.log" 2>&1 || skip "no virtual environment: $(tail -n 1 "$folder/venv.log")"
    # shellcheck disable=SC2086
    timeout 600 "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --retries 0 --timeout 20 \
        $wanted >"$folder/pip.log" 2>&1 || skip "$wanted cannot be installed: $(tail -n 1 "$folder/pip.log")"
    echo "$wanted $venv" >"$venv/ready"
fi
rm -rf "$folder/dist"
wheel=$(python3 "$here/../../tools/wheel.py" "$executable" "$runtime" "$folder/dist") || exit 1
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall "$wheel" || exit 1

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/home"
cp "$here"/test_*.py "$scratch"
rm "$scratch"/test_torch*.py # these are of `make check-torch`
cd "$scratch" || exit 1
for variable in $(compgen -e | grep -E '^(AUTOKERNEL|XDG|PYTHON)'); do
    unset "$variable"
done
export AK_TUTORIAL=$here/../../docs/tutorial.md HOME=$scratch/home LC_ALL=C TZ=UTC AUTOKERNEL_ARCHIVE=$scratch/archive.db AUTOKERNEL_FINISH_TIME=0.15 AUTOKERNEL_CEILING_MIB=8
"$venv/bin/autokernel" list --json >/dev/null || exit 1
"$venv/bin/python" -B -m pytest -q -p no:cacheprovider test_*.py
