#!/usr/bin/env bash
# The Python package: its wheel is built, installed into a virtual environment in FOLDER with NumPy and
# pytest from PyPI, which is reference.sh's too, and tested there; where these cannot be had, the test
# skips itself.
# Usage: run.sh EXECUTABLE RUNTIME FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
executable=$(realpath "$1") runtime=$(realpath "$2")
mkdir -p "$3"
folder=$(cd "$3" && pwd)
. "$here/../interop/venv.sh"

command -v gcc >/dev/null || skip "no gcc"
command -v objdump >/dev/null || skip "no objdump"
shared_venv "$folder" "import numpy.testing, pytest" numpy==2.2.6 pytest
# Only what makes frames wants pandas; its tests skip themselves without.
if ! "$venv/bin/python" -c "import pandas" 2>/dev/null; then
    in_venv install --quiet --retries 0 --timeout 20 --no-compile pandas >"$folder/pandas.log" 2>&1 &&
        import_in_venv "import pandas" 2>"$folder/pandas.log" || echo "no pandas: $(tail -n 1 "$folder/pandas.log")"
fi
rm -rf "$folder/dist"
wheel=$(python3 "$here/../../tools/wheel.py" "$executable" "$runtime" "$folder/dist") || exit 1
in_venv install --quiet --no-index --no-deps --force-reinstall "$wheel" || exit 1

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/home"
cp "$here"/test_*.py "$scratch"
rm "$scratch"/test_torch*.py # these are of `make check-torch`
cd "$scratch" || exit 1
for variable in $(compgen -e | grep -E '^(AUTOKERNEL|XDG|PYTHON)'); do
    unset "$variable"
done
export OPENBLAS_NUM_THREADS=1 # NumPy's would start, and wait for work, in each of many processes
export AK_TUTORIAL=$here/../../docs/tutorial.md HOME=$scratch/home LC_ALL=C TZ=UTC AUTOKERNEL_ARCHIVE=$scratch/archive.db AUTOKERNEL_FINISH_TIME=0.02 AUTOKERNEL_CEILING_MIB=8 AUTOKERNEL_SAMPLES=7 AUTOKERNEL_THREADS=1
"$venv/bin/autokernel" list --json >/dev/null || exit 1
"$venv/bin/autokernel" doctor >doctor && grep -q "^host" doctor || { echo "doctor:"; cat doctor; exit 1; }
# What pip installs beside the package: the manual page, completions, and the runtime's sources.
share=$venv/share
cmp "$share/man/man1/autokernel.1" <("$executable" help --format man) || exit 1
words=$(bash -c ". '$share/bash-completion/completions/autokernel'; COMP_WORDS=(autokernel tune --eva); COMP_CWORD=2
                 _autokernel; echo \${COMPREPLY[*]}")
[ "$words" = --evals ] || { echo "bash completes tune --eva as: $words"; exit 1; }
cmp "$share/zsh/site-functions/_autokernel" <("$executable" help --format zsh) || exit 1
cmp "$share/fish/vendor_completions.d/autokernel.fish" <("$executable" help --format fish) || exit 1
gcc -fsyntax-only -I"$share/autokernel/runtime" "$share/autokernel/runtime/ak_runtime.c" || exit 1
# Where tests fail and the product said that the machine was too busy to judge a candidate, which is right there, all
# run again.
for again in 1 2 3; do
    PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 "$venv/bin/python" -B -m pytest -q -p no:cacheprovider --basetemp="$scratch/pytest" \
        test_*.py >"$scratch/shown" 2>&1
    code=$?
    cat "$scratch/shown"
    [ $code -ne 0 ] && grep -rqas "not judged: the machine was too busy" "$scratch" || break
    rm -rf "$scratch/pytest" "$scratch"/archive.db*
done
exit $code
