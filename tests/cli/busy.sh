# Beside endless loops on every processor, what bench, study and MCP's measure time is too long and what doctor measures
# is too low, and they say so. The report of a run that was killed there says so, too.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
[ -r /proc/pressure/cpu ] || { echo "this system does not tell how busy it is"; exit 77; }
loops=
for _ in $(seq $((2 * $(nproc)))); do
    timeout 300 sh -c 'while :; do :; done' &
    loops="$loops $!"
done
autokernel doctor --json >doctor 2>/dev/null
autokernel new kernel mine >/dev/null
autokernel bench ./mine --size 64 --json >json 2>/dev/null
autokernel study ./mine --size 64 --arms random --seeds 1 --evals 1 --json >study 2>/dev/null
PYTHONPATH=$TESTS PYTHONDONTWRITEBYTECODE=1 python3 - <<'END'
import json
from mcp_client import Client
c = Client("./mine", "--archive", "other.db")
reply = c.tool("measure", kernel="mine", size="64", configs=["default"])
c.close()
for name, result in ("doctor", json.load(open("doctor"))), ("bench", json.load(open("json"))), ("measure", reply), ("study", json.load(open("study"))):
    print(name, result["pressure"] > 0.1, [w.split(":")[0] for w in result["warnings"]])
END
for signal in KILL INT; do
    rm -f events
    mkfifo events
    env --default-signal=INT autokernel tune ./mine --size 64 --evals 100000 --libraries none --events events --quiet >/dev/null 2>&1 &
    program=$!
    (tail --pid=$program -f /dev/null; : >events) >/dev/null 2>&1 & # else the reader might wait for ever
    watcher=$!
    ok=0
    while IFS= read -r event; do
        case $event in
        *'"event"'*'"trial"'*'"status"'*'"ok"'*) ok=$((ok + 1)); [ $ok != 2 ] || kill -$signal $program ;;
        esac
    done <events
    wait $program 2>/dev/null
    kill $watcher 2>/dev/null # it may have ended
    echo "- $signal"
    autokernel report | grep -o 'the machine was busy with other work'
    autokernel report | grep -c 'Its speed is [0-9]'
done
kill $loops
