# What happens when the device's worker, or the whole run with its compilers, reaches the memory limit of a cgroup (version 2, or
# the memory controller of version 1): the kernel kills one of them. As faults.sh. The limit of the whole run stays until
# its end, so it may cost more than the trial in flight.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
autokernel doctor --json | grep -q '"seccomp": *true' || { echo "a build with sanitizers needs more memory"; exit 77; }
own=
for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
    if [ -n "$own" ]; then break; fi
    if mkdir "$root/autokernel-test-$$" 2>/dev/null; then
        [ -e "$root/autokernel-test-$$/memory.max" ] || [ -e "$root/autokernel-test-$$/memory.limit_in_bytes" ] &&
            own=$root/autokernel-test-$$ || rmdir "$root/autokernel-test-$$"
    fi
done
[ -n "$own" ] || { echo "no cgroup with a memory controller can be made here (needs root, and memory in cgroup.subtree_control)"; exit 77; }
trap 'rmdir "$own" 2>/dev/null' EXIT
autokernel new kernel part >/dev/null
cat >drive.py <<'PY'
import errno, os, sys, time
sys.path.insert(0, os.environ["TESTS"])
from faults import *
own = sys.argv[1]
LIMIT = "memory.max" if os.path.exists(own + "/memory.max") else "memory.limit_in_bytes"

def join(pid):
    with open(own + "/cgroup.procs", "w") as file:
        file.write(str(pid))

def limit(bytes):
    """Version 1 refuses a limit below what is in use and cannot be taken away, until a compiler ends."""
    for tries_left in reversed(range(1000)):
        try:
            with open(f"{own}/{LIMIT}", "w") as file:
                file.write(str(bytes))
            return
        except OSError as error:
            if error.errno != errno.EBUSY or tries_left == 0:
                raise
            time.sleep(0.005)

def killed():
    """How often the kernel has killed a process for the limit."""
    for name in ("memory.events", "memory.oom_control"):
        if os.path.exists(f"{own}/{name}"):
            with open(f"{own}/{name}") as file:
                return int(dict(line.split() for line in file).get("oom_kill", 0))
    return 0

def inside():
    join(os.getpid())

def squeeze(role, bytes):
    """From now on this process, and what it starts, has little memory."""
    def fault(tune, known):
        limit(bytes)
        join(one(known, role))
    return fault

wanted = undisturbed()
limit(256 << 20)
tell("a limit that suffices", None, wanted, start=inside)
before = killed()
code, text = tell("the device's worker, 2 MiB", squeeze("--device", 2 << 20), wanted, mend=lambda: limit(256 << 20))
print("  the limit was reached:", "yes" if killed() > before else "NO", "- told:",
      "yes" if code == 0 or "memory" in text or "killed" in text.lower() else text[-300:])

def all_of_it(tune, known):
    for pid in (tune.pid, *known):
        try:
            join(pid)
        except OSError:
            pass
    limit(20 << 20)

before = killed()
tell("the whole run with its compilers, 20 MiB", all_of_it, wanted, mend=lambda: limit(256 << 20), start=inside)
print("  the limit was reached:", "yes" if killed() > before else "NO")
PY
timeout 600 python3 drive.py "$own"
