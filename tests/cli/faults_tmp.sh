# What happens to a run when the file system of TMPDIR becomes full or read-only in the middle, and to a file
# that is written to a full disk: real file systems of a few megabytes, in a mount namespace of our own.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
if [ -z "${AK_TEST_INSIDE:-}" ]; then
    export AK_TEST_INSIDE=1
    for how in -m -Urm; do
        unshare $how true 2>/dev/null && exec unshare $how bash "$0"
    done
    echo "no mount namespace: neither root nor user namespaces"
    exit 77
fi
mkdir small disk
mount -t tmpfs -o size=24m tmpfs small 2>/dev/null && mount -t tmpfs -o size=1m tmpfs disk 2>/dev/null || { echo "a tmpfs cannot be mounted"; exit 77; }
export TMPDIR=$PWD/small
autokernel new kernel part >/dev/null
cat >drive.py <<'PY'
import os, subprocess, sys
sys.path.insert(0, os.environ["TESTS"])
from faults import *

def fill(folder):
    with open(os.path.join(folder, "filler"), "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 12))
        except OSError:
            pass

def full(tune, known):
    fill("small")

def read_only(tune, known):
    """Remounting is refused while files are open for writing, so an empty file system covers it."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", os.path.abspath("small")], check=True)

def writable():
    subprocess.run(["umount", "-l", os.path.abspath("small")], check=True)

def told(text):
    print("  told:", "yes" if "TMPDIR" in text else text[-300:])

wanted = undisturbed()
code, text = tell("a full TMPDIR", full, wanted, mend=lambda: os.unlink("small/filler"))
told(text)
code, text = tell("a TMPDIR that becomes read-only", read_only, wanted, mend=writable)
told(text)
read_only(None, None)
ran = subprocess.run([*TUNE, "--quiet"], capture_output=True, text=True, env=dict(os.environ, AUTOKERNEL_ARCHIVE="ro.db"))
print("a run in a read-only TMPDIR: exit", ran.returncode, "-", len(ran.stderr.strip().splitlines()), "line" if "read-only" in ran.stderr.lower() else ran.stderr)
writable()

os.environ["AUTOKERNEL_ARCHIVE"] = os.path.abspath("plain.db")
writes = {"export": ["export", "part", "--size", "1000", "--force", "-o"],
          "export csv": ["export", "part", "--size", "1000", "--format", "csv", "--force", "-o"],
          "bundle": ["export", "part", "--size", "1000", "--format", "bundle", "--force", "-o"],
          "report": ["report", "--format", "html", "--force", "-o"],
          "report json": ["report", "--format", "json", "--force", "-o"]}
for name, words in writes.items():
    path = os.path.join("disk", name.replace(" ", "."))
    with open(path, "w") as file:
        file.write("as before\n")
for name, words in writes.items():
    path = os.path.join("disk", name.replace(" ", "."))
    before = set(os.listdir("disk"))
    fill("disk")
    ran = subprocess.run(["autokernel", *words, path], capture_output=True, text=True)
    lines = ran.stderr.strip().splitlines()
    with open(path) as file:
        whole = file.read() == "as before\n"
    print(f"{name} to a full disk: exit {ran.returncode}, the old file is", "whole," if whole else "DAMAGED,",
          "nothing is left behind," if set(os.listdir("disk")) == before | {"filler"} else f"LEFT {os.listdir('disk')},",
          "one line" if len(lines) == 1 and "No space left on device; free some space there" in lines[0] else lines)
    os.unlink("disk/filler")
for name in os.listdir("disk"):
    os.unlink(os.path.join("disk", name))
fill("disk")
ran = subprocess.run([*TUNE, "--quiet"], capture_output=True, text=True, env=dict(os.environ, AUTOKERNEL_ARCHIVE="disk/new.db"))
print("an archive on a full disk:", ran.stderr.strip().splitlines()[-1].split("/")[-1])

os.unlink("disk/filler")
os.unlink("disk/new.db")
subprocess.run([*TUNE, "--quiet"], capture_output=True, env=dict(os.environ, AUTOKERNEL_ARCHIVE="disk/old.db"))
fill("disk")
ran = subprocess.run(["autokernel", "history", "--archive", "disk/old.db"], capture_output=True, text=True)
print("history on a full disk: exit", ran.returncode, "-", ran.stdout.count(" ok "), "trials" + ran.stderr)
os.unlink("disk/filler")
for left in {"old.db-wal", "old.db-shm"} & set(os.listdir("disk")):  # of the first try, both empty
    os.unlink(os.path.join("disk", left))
subprocess.run(["mount", "-o", "remount,ro", os.path.abspath("disk")], check=True)
for words in (["export", "part", "--size", "1000", "-o", "disk/best.json"], [*TUNE[1:], "--events", "disk/events"],
              ["report", "-o", "disk/report"], ["import", "plain.db", "--archive", "disk/old.db"],
              ["import", "plain.db", "--archive", "disk/new.db"], ["import", "plain.db", "--archive", "disk/a/new.db"]):
    ran = subprocess.run(["autokernel", *words], capture_output=True, text=True)
    print(ran.stderr.strip().replace(os.getcwd() + "/", ""))
ran = subprocess.run([*TUNE, "--quiet"], capture_output=True, text=True, env=dict(os.environ, TMPDIR="disk"))
print(ran.stderr.strip().replace(os.getcwd() + "/", "").split("autokernel-")[0], ran.stderr.strip().split(": ")[-1])
PY
timeout 600 python3 drive.py
