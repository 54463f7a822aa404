# For tests that need packages of PyPI: make_venv FOLDER IMPORTS PACKAGE... installs the packages into
# FOLDER/venv, once, and sets `venv`. Where they cannot be had, the test skips itself.
#
# A virtual environment with a pip of its own, and all modules of NumPy and SciPy compiled, takes many
# times as long as this one: another pip installs, and what the statement IMPORTS imports is compiled.
skip() { echo "skip: $*"; exit 77; }

# Runs pip for the environment: the one outside, or where that is missing or older than --python, its own.
in_venv() {
    if [ -z "${pip_outside:-}" ]; then # asked once, because each start of pip takes half a second
        pip_outside=no
        python3 -m pip --python "$venv/bin/python" --version >/dev/null 2>&1 && pip_outside=yes
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

make_venv() {
    mkdir -p "$1"
    local folder imports=$2
    folder=$(cd "$1" && pwd)
    shift 2
    venv=$folder/venv
    command -v python3 >/dev/null || skip "no python3"
    # Tests that share an environment may begin at the same time: one makes it.
    exec 9>"$folder/lock"
    flock 9
    # One that was moved with its folder, or not finished, is made again.
    if [ "$(cat "$venv/ready" 2>/dev/null)" != "$* $venv" ]; then
        rm -rf "$venv"
        python3 -m venv --without-pip "$venv" >"$folder/venv.log" 2>&1 ||
            skip "no virtual environment: $(tail -n 1 "$folder/venv.log")"
        in_venv install --quiet --retries 0 --timeout 20 --no-compile "$@" >"$folder/pip.log" 2>&1 ||
            skip "$* cannot be installed: $(tail -n 1 "$folder/pip.log")"
        import_in_venv "$imports" 2>"$folder/pip.log" ||
            skip "$* cannot be imported: $(tail -n 1 "$folder/pip.log")"
        echo "$* $venv" >"$venv/ready"
    fi
    exec 9>&-
}
