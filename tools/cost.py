#!/usr/bin/env python3
"""The processor time of tests: their own and that of all processes that they start.

    tools/cost.py [REGEX]       runs the tests of build/release one after the other, in the order in which
                                `make check` begins them, and lists the seconds, the costliest first

The clock says little of a test where others run beside it: ctest's own times are for the order of tests."""
import ctypes, json, os, re, resource, subprocess, sys, time

BUILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build", "release")
PR_SET_CHILD_SUBREAPER = 36
LEFT_S = 3  # how long processes that a test leaves behind are waited for

def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime

def properties(test):
    return {p["name"]: p["value"] for p in test["properties"]}

def run(test):
    """Runs a test; its exit code and its processor seconds."""
    known = properties(test)
    environment = dict(os.environ)
    environment.update(line.split("=", 1) for line in known.get("ENVIRONMENT", []))
    for line in known.get("ENVIRONMENT_MODIFICATION", []):
        name, value = line.split("=", 1)
        environment[name] = value.removeprefix("set:")
    before = used()
    code = subprocess.run(test["command"], cwd=known.get("WORKING_DIRECTORY", BUILD), env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    end = time.monotonic() + LEFT_S
    while time.monotonic() < end:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.05)
        except ChildProcessError:
            break
    return code, used() - before

def main():
    wanted = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what a test leaves behind becomes ours
    tests = json.loads(subprocess.run(["ctest", "--show-only=json-v1"], cwd=BUILD, stdout=subprocess.PIPE, check=True).stdout)["tests"]
    tests = [t for t in tests if wanted.search(t["name"]) and "command" in t and not properties(t).get("DISABLED")]
    tests.sort(key=lambda t: -properties(t).get("COST", 0))
    costs = []
    for test in tests:
        code, seconds = run(test)
        costs.append((seconds, test["name"], "" if code == 0 else " skipped" if code == properties(test).get("SKIP_RETURN_CODE") else f" FAILED, exit {code}"))
        print(f"{len(costs)} of {len(tests)}: {test['name']}", end="\033[K\r", file=sys.stderr, flush=True)
    for seconds, name, what in sorted(costs, reverse=True):
        print(f"{seconds:7.1f} s  {name}{what}")
    print(f"{sum(c[0] for c in costs):7.1f} s  in all")

main()
