"""hostile_worker.py FAULT COMMAND...: a launcher whose worker is honest but for its replies to trials.
Notes each of these in the file `asked`."""
import json
import subprocess
import sys
import threading

FAULTS = {
    "negative": {"samples_ms": [1.0, -1.0]},
    "fast": {"samples_ms": [1e-9] * 9},
    "median": {"median_ms": 1e-9, "ci_low_ms": 1e-9},
    "escape": {"outcome": "wrong_result", "reason": "a\x1b[2Jb\nautokernel: c"},
    "unjudged": {"unjudged": True, "outcome": "timed_out", "reason": "not judged"},
}

fault, command = sys.argv[1], sys.argv[2:]
worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
asked = {}


def pass_down():
    for line in sys.stdin.buffer:
        if line.strip():
            request = json.loads(line)
            asked[request.get("id")] = request.get("op")
        worker.stdin.write(line)
        worker.stdin.flush()
    worker.stdin.close()


threading.Thread(target=pass_down, daemon=True).start()
for line in worker.stdout:
    reply = json.loads(line) if line.strip() else {}
    if asked.get(reply.get("id")) == "trial":
        with open("asked", "a") as file:
            file.write("x\n")
        reply.update(FAULTS[fault])
        line = json.dumps(reply).encode() + b"\n"
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
