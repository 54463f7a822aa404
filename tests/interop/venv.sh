# For the tests of this folder: make_venv FOLDER PACKAGE VERSION installs one package of PyPI into
# FOLDER/venv, once, and sets `venv`. Where it cannot be had, the test skips itself.
skip() { echo "skip: $*"; exit 77; }

make_venv() {
    mkdir -p "$1"
    local folder
    folder=$(cd "$1" && pwd)
    venv=$folder/venv
    command -v python3 >/dev/null || skip "no python3"
    # One that was moved with its folder, or not finished, is made again.
    [ "$(cat "$venv/ready" 2>/dev/null)" != "$3 $venv" ] || return 0
    rm -rf "$venv"
    python3 -m venv "$venv" >"$folder/venv.log" 2>&1 || skip "no virtual environment: $(tail -n 1 "$folder/venv.log")"
    timeout 600 "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --retries 0 --timeout 20 \
        "$2==$3" >"$folder/pip.log" 2>&1 || skip "$2 $3 cannot be installed: $(tail -n 1 "$folder/pip.log")"
    echo "$3 $venv" >"$venv/ready"
}
