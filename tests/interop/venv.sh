# For tests that need packages of PyPI: make_venv FOLDER IMPORTS PACKAGE... installs the packages into a virtual
# environment in FOLDER, once, and sets `venv`. Where they cannot be had, the test skips itself.
#
# shared_venv does so for the tests of `make check`, which have one environment with the packages of all of them:
# NumPy, which three need, is installed once, and pip starts once. Where one of all cannot be had, each test has an
# environment of its own, so that it does not miss what another lacks.
#
# A virtual environment with a pip of its own, and all modules of NumPy and SciPy compiled, takes many
# times as long as this one: another pip installs, and what the statement IMPORTS imports is compiled.
skip() { echo "skip: $*"; exit 77; }

# Runs pip for the environment: the one outside, or where that is missing or older than --python, its own.
in_venv() {
    if [ -z "${pip_outside:-}" ]; then # pip's version without a start of pip, which takes half a second
        pip_outside=no
        python3 -c 'import importlib.metadata, re
version = re.findall(r"\d+", importlib.metadata.version("pip"))
exit([int(version[0]), int(version[1])] < [22, 3])' >/dev/null 2>&1 && pip_outside=yes # --python is of 22.3
    fi
    if [ $pip_outside = yes ]; then
        python3 -m pip --disable-pip-version-check --python "$venv/bin/python" "$@"
    else
        [ -x "$venv/bin/pip" ] || python3 -m venv "$venv" >/dev/null 2>&1
        "$venv/bin/python" -m pip --disable-pip-version-check "$@"
    fi
}

# Imports in the environment, and keeps what Python compiles for it even where it is told to keep nothing.
import_in_venv() { env -u PYTHONDONTWRITEBYTECODE "$venv/bin/python" -c "$1"; }

# Measures no longer than cli/run.sh does: what is tested here needs neither exact times nor ceilings.
brief() { export AUTOKERNEL_FINISH_TIME=0.02 AUTOKERNEL_CEILING_MIB=8 AUTOKERNEL_SAMPLES=7; }

# Makes $venv in $folder, with what it imports and installs, unless it is there. Otherwise says in `why` what
# is lacking. One that was moved with its folder, or not finished, is made again.
try_venv() {
    local imports=$1
    shift
    [ "$(cat "$venv/ready" 2>/dev/null)" != "$* $venv" ] || return 0
    rm -rf "$venv"
    why="no virtual environment:"
    python3 -m venv --without-pip "$venv" >"$folder/pip.log" 2>&1 || return 1
    why="$* cannot be installed:"
    in_venv install --quiet --retries 0 --timeout 20 --no-compile "$@" >"$folder/pip.log" 2>&1 || return 1
    why="$* cannot be imported:"
    import_in_venv "$imports" 2>"$folder/pip.log" || return 1
    echo "$* $venv" >"$venv/ready"
}

# Tests that share an environment may begin at the same time: one makes it.
enter_folder() {
    command -v python3 >/dev/null || skip "no python3"
    mkdir -p "$1"
    folder=$(cd "$1" && pwd)
    exec 9>"$folder/lock"
    flock 9
}

make_venv() {
    local folder why
    enter_folder "$1"
    venv=$folder/venv
    try_venv "${@:2}" || skip "$why $(tail -n 1 "$folder/pip.log")"
    exec 9>&-
}

shared_venv() {
    local folder why
    local imports="import numpy.testing, pytest, pandas, kernel_tuner, kernel_tuner.observers, kernel_tuner.searchspace"
    enter_folder "$1"
    venv=$folder/venv
    if ! [ -e "$folder/apart" ] && ! try_venv "$imports, anyio, jsonschema, mcp, tvm_ffi" numpy==2.2.6 pytest pandas \
        kernel_tuner==1.5.0 mcp==2.3.0 apache-tvm-ffi==0.1.15.post2; then
        touch "$folder/apart"
    fi
    exec 9>&-
    [ ! -e "$folder/apart" ] || make_venv "$folder/$(echo "${*:3}" | tr -c 'a-z0-9\n' _)" "${@:2}"
}
