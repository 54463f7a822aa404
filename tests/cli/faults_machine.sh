# Fills the archive's disk, makes memory short, and lets the calendar jump during runs. Checks what faults.sh
# checks. machine.sh fills the folder for temporary files.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
autokernel new kernel part >/dev/null
gcc -shared -fPIC -O1 -o disk.so "$TESTS/../fakes/full_disk.c" -ldl || exit 1
gcc -shared -fPIC -O1 -o clock.so "$TESTS/../fakes/jumping_clock.c" || exit 1
LD_PRELOAD=$PWD/disk.so autokernel --version >/dev/null 2>&1 || { echo "a build with AddressSanitizer takes no preloaded library"; exit 77; }
cat >drive.py <<'PY'
import os, resource, sys
sys.path.insert(0, os.environ["TESTS"])
from faults import *

def become(name, value="1"):
    """Makes a file appear that a preloaded library looks at."""
    def fault(tune, known):
        with open(name, "w") as file:
            file.write(value)
    return fault

wanted = undisturbed()
here = os.getcwd()
flag = os.path.join(here, "flag")
back = lambda: os.path.exists(flag) and os.unlink(flag)

def preload(library, **variables):
    os.environ.update(variables, LD_PRELOAD=os.path.abspath(library))

preload("disk.so", AK_TEST_FULL=flag, AK_TEST_FULL_WHERE=".db")
code, text = tell("a full disk", become(flag), wanted, mend=back)
print("  told:", "yes" if "autokernel import" in text else text[-400:])

preload("clock.so", AK_TEST_JUMP=flag)
tell("a calendar that jumps ahead by ten years", become(flag, "315360000"), wanted, mend=back)
tell("a calendar that jumps back by ten years", become(flag, "-315360000"), wanted, mend=back)
del os.environ["LD_PRELOAD"]

def short(tune, known):
    """No process of the run can have more memory than it has now."""
    for pid in (tune.pid, one(known, "--device"), one(known, "--compile")):
        with open(f"/proc/{pid}/statm") as file:
            size = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.prlimit(pid, resource.RLIMIT_AS, (size + (1 << 20), resource.RLIM_INFINITY))

code, text = tell("no more memory", short, wanted)
print("  told:", "yes" if code == 0 or "out of memory" in text else text[-300:])
PY
timeout 600 python3 drive.py
