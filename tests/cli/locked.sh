# Tests a run while another program keeps the archive locked: the run goes on, its results wait and none is
# lost; commands that only read do not wait.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export AUTOKERNEL_ARCHIVE=$PWD/archive.db
autokernel new kernel part >/dev/null
cat >drive.py <<'PY'
import json, os, signal, sqlite3, subprocess, sys
sys.path.insert(0, os.environ["TESTS"])
from faults import lines
archive = os.environ["AUTOKERNEL_ARCHIVE"]
begin, end = sys.argv[1:3]
os.mkfifo("events")
tune = subprocess.Popen(["autokernel", "tune", "part", "--size", "1000", "--strategy", "random", "--seed", "3", "--evals",
                         "8", "--fix", "COMPILER=gcc", "--events", "events", *sys.argv[3:]],
                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
def is_at(event, what):
    return what in (event["event"], event.get("name"))
lock, shown, told = None, 0, []
for line in lines(tune):
    event = json.loads(line)
    if event["event"] == "warning" and "archive.db" in event["text"]:
        told.append(event["text"])
        if "Ctrl-C" in event["text"]:
            tune.send_signal(signal.SIGINT)
    if event["event"] == "trial" and event["id"] in (None, 0):
        shown += 1
    if begin is not None and is_at(event, begin):
        lock = sqlite3.connect(archive, isolation_level=None, timeout=60)
        lock.execute("BEGIN EXCLUSIVE")
        read = subprocess.run(["autokernel", "history"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print("history: exit", read.returncode)
        begin = None
    elif lock is not None and is_at(event, end):
        lock.execute("ROLLBACK")
        lock.close()
        lock = None
shown_last, _ = tune.communicate()
os.unlink("events")
print("tune: exit", tune.returncode, "- trials that waited:", "some" if shown else "none")
for text in told:
    print(text.replace(os.path.dirname(archive), "."))
print(*[line.replace(os.path.dirname(archive), ".") for line in shown_last.splitlines() if line.startswith("next: ")], sep="\n")
if lock is not None:
    lock.execute("ROLLBACK")
PY
count() {
    python3 -c '
import os, sqlite3
db = sqlite3.connect(os.environ["AUTOKERNEL_ARCHIVE"])
rows = db.execute("SELECT id, run IN (SELECT id FROM runs) FROM trials ORDER BY timestamp, id").fetchall()
ids = [row[0] for row in rows]
print("trials", len(ids), "in order" if ids == sorted(ids) else ids, "of", sum(row[1] for row in rows), "known runs; ended",
      db.execute("SELECT count(ended) FROM runs").fetchone()[0])'
}
echo "--- from the first trial until the finish"
python3 drive.py trial finish
count
echo "--- from the first trial on, longer than the run"
rm -f archive.db*
python3 drive.py trial never
autokernel import --format json autokernel-waiting-*.json
count
