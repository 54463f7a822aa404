#!/usr/bin/env bash
# Kernel Tuner itself beside us: what it writes we read, what we export it goes on from (exchange.py).
# It is installed from PyPI into a virtual environment in FOLDER, once; where that cannot be had, the
# test skips itself. Usage: run.sh EXECUTABLE FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
executable=$(realpath "$1")
. "$here/venv.sh"
shared_venv "$2" "import kernel_tuner, kernel_tuner.observers, kernel_tuner.searchspace" kernel_tuner==1.5.0
command -v gcc >/dev/null || skip "no gcc for the C backend of Kernel Tuner"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/home"
cd "$scratch" || exit 1
for variable in $(compgen -e | grep -E '^(AUTOKERNEL|XDG|KERNEL_TUNER)_'); do
    unset "$variable"
done
export HOME=$scratch/home LC_ALL=C TZ=UTC
brief
"$venv/bin/python" -B "$here/exchange.py" "$executable"
