# What a run for many sizes says that ends without a table: it is interrupted, also while another program keeps the
# archive locked, or no configuration, or too few, serve every size.
command -v gcc >/dev/null && command -v python3 >/dev/null || { echo "no gcc or no python3"; exit 77; }
export AUTOKERNEL_ARCHIVE=$PWD/archive.db
cat >pick.c <<'C'
#ifndef FOR
#define FOR 1000
#endif
void pick(const float *x, float *y, int n) { for (int i = 0; i < n; i++) y[i] = 2 * x[i] + 0 * FOR; }
C
autokernel new kernel pick --from pick.c >/dev/null
sed -i 's/"Conditions": \[\]/"Conditions": [{"Expression": "FOR == n"}]/' pick/host.json
sed -i 's/"default": [0-9]*/"default": 1000/' pick/problem.json
tune="tune ./pick --strategy exhaustive --fix COMPILER=gcc,OPT_LEVEL=2 --libraries none --finish-time 0.02"
echo "-- interrupted"
cat >drive.py <<'PY'
import json, os, signal, sqlite3, subprocess, sys
sys.path.insert(0, os.environ["TESTS"])
from faults import lines
archive, locked = os.environ["AUTOKERNEL_ARCHIVE"], sys.argv[1] == "locked"
os.mkfifo("events")
tune = subprocess.Popen(["autokernel", *sys.argv[2:], "--events", "events"], stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, text=True)
lock, stopped = None, False
for line in lines(tune):
    event = json.loads(line)
    if locked and lock is None and event["event"] == "start":
        lock = sqlite3.connect(archive, isolation_level=None, timeout=60)
        lock.execute("BEGIN EXCLUSIVE")
    waits = event["event"] == "warning" and "archive.db" in event["text"]
    if not stopped and (waits if locked else event["event"] == "trial"):
        tune.send_signal(signal.SIGINT)
        stopped = True
shown, _ = tune.communicate()
os.unlink("events")
print("exit", tune.returncode)
for line in shown.splitlines():
    if line.startswith(("autokernel: ", "next: ")):
        print(line.replace(os.path.dirname(archive), "."))
if locked:
    lock.execute("ROLLBACK")
PY
for how in open locked; do
    rm -f archive.db*
    python3 drive.py $how $tune --sizes '500;1000;2000' --evals 6 --quiet # the signal may come late where others use the processors
done
autokernel import --format json autokernel-waiting-*.json | head -1
echo "-- not enough"
for table in 1 2; do
    autokernel $tune --sizes '500;1000;2000' --dispatch $table --quiet 2>&1 | grep '^autokernel'
done
