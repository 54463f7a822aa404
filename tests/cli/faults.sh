# Kills and stops processes, fills and locks files during runs. Checks how many trials are lost, what is left
# behind, and whether --resume continues to the trials of an undisturbed run.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
autokernel new kernel part >/dev/null
cat >drive.py <<'PY'
import os, sqlite3, subprocess, sys
sys.path.insert(0, os.environ["TESTS"])
from faults import *
wanted = undisturbed()
tell("a killed device worker", kill("--device"), wanted)
tell("a killed compile worker", kill("--compile"), wanted)
tell("a killed runner", kill("--runner"), wanted)
tell("a stopped device worker", stop("--device"), wanted)
tell("a stopped compile worker", stop("--compile"), wanted)
tell("a killed tuner", kill_tuner, wanted)
tell("an interrupt", interrupt, wanted)
tell("two interrupts", interrupt_twice, wanted)
tell("two tuners", other_tuner, wanted)

# Rows that somebody has altered are not believed.
db = sqlite3.connect("plain.db")
db.execute("UPDATE trials SET ms = ms / 100 WHERE id = (SELECT min(id) FROM trials)")
db.commit()
db.close()
for command in (["history"], ["best"], [*TUNE[1:], "--resume", "--quiet"]):
    done = subprocess.run(["autokernel", *command], env=dict(os.environ, AUTOKERNEL_ARCHIVE=os.path.abspath("plain.db")),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = [line for line in done.stdout.splitlines() if "was changed" in line]
    print("an altered row:", command[0], "exit", done.returncode, "-", lines[0] if lines else "NOT NOTICED")
PY
timeout 600 python3 drive.py
