"""What the tests of faults share: a search that is disturbed, what is left of it, and whether --resume
goes on to the trials of an undisturbed one."""
import json, os, re, select, signal, sqlite3, subprocess, sys, time

TUNE = ["autokernel", "tune", "part", "--size", "1000", "--strategy", "random", "--seed", "3", "--fix",
        "COMPILER=gcc", "--evals", "5", "--libraries", "none", "--finish-time", "0.02"]
TMP = os.environ["TMPDIR"]
os.environ.pop("AUTOKERNEL_SAMPLES", None)  # a busy machine needs more samples to tell that a trial is right
# No artifact is kept, so that every run with a fault compiles: where the folder would be, there is a file. The
# undisturbed and the resumed runs share a folder of their own, so that they need not compile the same again.
KEPT = os.path.join(os.getcwd(), "kept")
os.makedirs(os.path.join(os.environ["XDG_CACHE_HOME"], "autokernel"), exist_ok=True)
open(os.path.join(os.environ["XDG_CACHE_HOME"], "autokernel", "host"), "w").close()

def configs(archive):
    db = sqlite3.connect(archive)
    rows = db.execute("SELECT config, status FROM trials").fetchall()
    whole = db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    db.close()
    return rows, whole

def processes(below):
    """The roles of all descendants: {pid: its arguments}."""
    found, todo = {}, [below]
    while todo:
        pid = todo.pop()
        try:
            with open(f"/proc/{pid}/task/{pid}/children") as file:
                children = [int(c) for c in file.read().split()]
        except OSError:
            continue
        for child in children:
            try:
                with open(f"/proc/{child}/cmdline", "rb") as file:
                    found[child] = file.read().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            todo.append(child)
    return found

def left_behind(known):
    """What of a run is still there a moment after its end."""
    end = time.monotonic() + 10
    while True:
        alive = [pid for pid in known if os.path.exists(f"/proc/{pid}")
                 and open(f"/proc/{pid}/stat").read().split(")")[1].split()[0] != "Z"]
        if not alive or time.monotonic() > end:
            return len(alive)
        time.sleep(0.05)

def lines(tune, name="events"):
    """The lines that `tune` writes to the FIFO `name`. If it ends before the first one, which a plain open() would
    wait for, shows what it said and ends the test."""
    reader = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    while not select.select([reader], [], [], 0.1)[0] and tune.poll() is None:
        pass
    os.set_blocking(reader, True)
    told = False
    with open(reader) as events:
        for line in events:
            told = True
            yield line
    if not told:
        sys.exit(f"the program ended without an event, exit {tune.wait()}: {tune.stdout.read()}")

def run(archive, fault, after=2, more=(), at="trial", start=None):
    """Runs a search; once `after` events `at` are known calls fault(tune, its descendants). `start` is called
    in the child before the program begins."""
    if not os.path.exists("events"):
        os.mkfifo("events")
    environment = dict(os.environ, AUTOKERNEL_ARCHIVE=archive)
    if fault is None and start is None:
        environment["XDG_CACHE_HOME"] = KEPT
    tune = subprocess.Popen([*TUNE, *more, "--events", "events"], env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=start)
    trials, seen, known = 0, 0, {}
    for line in lines(tune):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        known.update(processes(tune.pid))
        trials += event["event"] == "trial"
        if at in (event["event"], event.get("phase")):
            seen += 1
            if seen == after and fault is not None:
                fault(tune, known)
    text = tune.communicate()[0]
    return tune.returncode, trials, text, left_behind(known)

def one(known, role):
    return next(pid for pid, line in known.items() if role in line and os.path.exists(f"/proc/{pid}"))

def kill(role):
    return lambda tune, known: os.kill(one(known, role), signal.SIGKILL)

def stop(role):
    def fault(tune, known):
        pid = one(known, role)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(1)
        os.kill(pid, signal.SIGCONT)
    return fault

def kill_tuner(tune, known):
    tune.kill()

def interrupt(tune, known):
    tune.send_signal(signal.SIGINT)

def interrupt_twice(tune, known):
    tune.send_signal(signal.SIGINT)
    time.sleep(0.2)
    if tune.poll() is None:
        tune.send_signal(signal.SIGINT)

def other_tuner(tune, known):
    other_tuner.done = subprocess.run([*TUNE, "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                      env=dict(os.environ, AUTOKERNEL_ARCHIVE=other_tuner.archive)).returncode

def tell(name, fault, wanted, mend=None, **how):
    archive = os.path.join(os.getcwd(), name.replace(" ", "-") + ".db")
    other_tuner.archive = archive
    folders = set(os.listdir(TMP))
    code, trials, text, alive = run(archive, fault, **how)
    if mend is not None:
        mend()
    for rest in re.findall(r"`autokernel import ([^`]+)`", text):  # what waits outside of the archive
        subprocess.run(["autokernel", "import", *rest.split()], stdout=subprocess.DEVNULL, check=True,
                       env=dict(os.environ, AUTOKERNEL_ARCHIVE=archive))
    kept, whole = configs(archive)
    lost = trials - len(kept) if fault is not other_tuner else 2 * len(wanted) - len(kept)
    lost = max(lost, 0) + sum(status != "ok" for config, status in kept)
    resumed = run(archive, None, more=("--resume",))
    final, whole_then = configs(archive)
    goal = {config for config, status in final}
    print(f"{name}: trials lost {'at most the one in flight' if lost <= 1 else lost}, archive {'whole' if whole and whole_then else 'DAMAGED'},",
          f"processes left {alive + resumed[3]}, folders left {len(set(os.listdir(TMP)) - folders)},",
          "resumed to", "the same trials" if goal == wanted else f"OTHER trials: {sorted(goal ^ wanted)}", flush=True)
    return code, text

def undisturbed():
    code, trials, text, alive = run(os.path.abspath("plain.db"), None)
    wanted = {config for config, status in configs("plain.db")[0] if status == "ok"}
    print("undisturbed:", len(wanted), "trials, exit", code)
    return wanted
