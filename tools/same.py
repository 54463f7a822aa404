#!/usr/bin/env python3
"""Says where two builds of autokernel behave differently on a recording, in place of a device.

Usage: same.py OLD NEW RECORDING [STRATEGY...]
Runs `tune RECORDING --device sim` by both executables with the same seed, and compares the result (JSON), the
events and the rows of the archive. Prints each field that differs, in how many places and for which strategies,
with the first difference; exits with 1 if there is any. Time stamps of this machine are left out.
"""
import json, os, sqlite3, subprocess, sys, tempfile

STRATEGIES = ["random", "local", "anneal", "genetic", "diffevo", "pso", "evolve", "bayes", "forest", "portfolio"]
NOT_COMPARED = {("environments", "first_seen")}

def run(executable, recording, strategy, folder):
    def path(name):
        return os.path.join(folder, name)
    subprocess.run([executable, "tune", recording, "--device", "sim", "--strategy", strategy, "--seed", "7",
                    "--evals", "40", "--json", "--archive", path("db"), "--events", path("events"), "--quiet"],
                   stdout=open(path("json"), "w"), check=True)
    tables = {}
    archive = sqlite3.connect(path("db"))
    archive.row_factory = sqlite3.Row
    for table in ("trials", "runs", "environments"):
        tables[table] = [dict(row) for row in archive.execute("SELECT * FROM %s ORDER BY 1" % table)]
        for row in tables[table]:
            row.update((key, json.loads(row[key])) for key in ("options", "result", "words") if row.get(key))
    return {"json": json.load(open(path("json"))), "events": [json.loads(line) for line in open(path("events"))],
            **tables}

def differences(old, new, where):
    """Yields (field, old value, new value) for everything that differs; None stands for a missing member."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(set(old) | set(new)):
            if key in old and key in new:
                yield from differences(old[key], new[key], where + (key,))
            else:
                yield where + (key,), old.get(key, "(no such member)"), new.get(key, "(no such member)")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for a, b in zip(old, new):
            yield from differences(a, b, where)
    elif old != new:
        yield where, old, new

def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    found = {}
    for strategy in sys.argv[4:] or STRATEGIES:
        with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
            old, new = (run(sys.argv[i], sys.argv[3], strategy, folder) for i, folder in ((1, a), (2, b)))
        for field, *values in differences(old, new, ()):
            if field[:2] not in NOT_COMPARED:
                found.setdefault(field, []).append((strategy, values))
    for field, places in found.items():
        strategies = ",".join(dict.fromkeys(strategy for strategy, _ in places))
        old, new = (str(value)[:60] for value in places[0][1])
        print("%s: %d (%s): %s -> %s" % (".".join(field), len(places), strategies, old, new))
    print("%d fields differ" % len(found))
    sys.exit(1 if found else 0)

main()
