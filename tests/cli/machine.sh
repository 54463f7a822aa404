# Fills or removes the folder for temporary files in the middle of a run. No configuration is blamed, the run
# ends with a line that says what to do, and the results so far are measured again.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
real=$(command -v gcc) || { echo "no gcc"; exit 77; }
export AUTOKERNEL_ARCHIVE=$PWD/archive.db
mkdir bin temporary
cat >bin/gcc <<SH
#!/bin/sh
case "\$*" in
*-DUNROLL=*) [ ! -e "$PWD/full" ] || { echo "as: error writing x.s: No space left on device" >&2; exit 1; } ;;
esac
exec "$real" "\$@"
SH
chmod +x bin/gcc
export PATH=$PWD/bin:$PATH TMPDIR=$PWD/temporary
autokernel new kernel part >/dev/null
cat >drive.py <<'PY'
import json, os, subprocess, sys
sys.path.insert(0, os.environ["TESTS"])
from faults import lines
how = sys.argv[1]
os.mkfifo("events")
tune = subprocess.Popen(["autokernel", "tune", "part", "--size", "1000", "--strategy", "random", "--fix", "COMPILER=gcc", "--evals",
                         "14", "--seed", "2", "--json", "--events", "events"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
trials, told = 0, []
for line in lines(tune):
    event = json.loads(line)
    trials += event["event"] == "trial"
    if event["event"] == "trial" and trials == 3:
        if how == "full":
            open("full", "w").close()
        else:
            os.rename("temporary", "elsewhere")
    if event["event"] == "warning" and "TMPDIR" in event["text"]:
        told.append(event["text"])
    if event["event"] == "end":
        print("stopped by", event["stopped_by"], "- best:", "yes" if event["best"] else "no")
tune.communicate()
os.unlink("events")
print("exit", tune.returncode, "- told what to do:", "yes" if told else "no")
PY
statuses() { autokernel history --json | python3 -c 'import json, sys; print(sorted({t["status"] for t in json.load(sys.stdin)}))'; }
echo "--- full"
python3 drive.py full
statuses
echo "--- full from the beginning: the run has an end"
rm -f archive.db*
autokernel tune part --size 1000 --fix COMPILER=gcc --evals 2 --quiet >/dev/null 2>&1; echo "exit $?"
autokernel report | grep -E '^  (ended .*never|stopped by)'
rm full
echo "--- gone"
rm -f archive.db*
python3 drive.py gone
statuses
