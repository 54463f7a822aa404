#!/usr/bin/env bash
# `autokernel mcp` as the official Python SDK of the Model Context Protocol sees it (agent.py).
# Usage: mcp.sh EXECUTABLE FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
executable=$(realpath "$1")
. "$here/venv.sh"
shared_venv "$2" "import anyio, jsonschema, mcp" mcp==2.3.0

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/home"
cp "$here/../data/recordings/tiny.json" "$scratch"
cd "$scratch" || exit 1
for variable in $(compgen -e | grep -E '^(AUTOKERNEL|XDG)_'); do
    unset "$variable"
done
export HOME=$scratch/home LC_ALL=C TZ=UTC
timeout 300 "$venv/bin/python" -B "$here/agent.py" "$executable"
