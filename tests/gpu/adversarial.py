#!/usr/bin/env python3
"""The attacks and the honest kernels of tests/adversarial on a real CUDA device: tries all attacks,
bare and wasting time, at two sizes, and says which did not end as attacks.def wants; and which
honest kernel was not accepted. adversarial.py AUTOKERNEL [DEVICE] [-v]"""
import json
import os
import re
import subprocess
import sys

folders = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "adversarial")
words = [word for word in sys.argv[1:] if word != "-v"]
program, device = words[0], words[1] if len(words) > 1 else "cuda:0"
verbose = "-v" in sys.argv
NO_FASTER = 0.75  # whoever takes this much of the honest time has left out little


def autokernel(*arguments):
    return subprocess.run([program, *arguments, "--device", device], capture_output=True, text=True,
                          check=False, timeout=300)


def trials(folder, size):
    """Trials of all configurations, by the values of the parameters."""
    ran = autokernel("tune", folder, "--strategy", "exhaustive", "--evals", "500", "--time", "100",
                     "--libraries", "none", *size)
    run = re.search(r" report ([0-9a-f]{16})\b", ran.stdout + ran.stderr)
    if run is None:
        sys.exit(ran.stdout + ran.stderr)
    listed = autokernel("history", "--limit", "1000", "--json", "--run", run.group(1))
    return {tuple(int(part.split("=")[1]) for part in trial["config"].split(",")): trial
            for trial in json.loads(listed.stdout)}


def tell(fits, text):
    if not fits or verbose:
        print("ok   " if fits else "FAIL ", text, flush=True)
    return 0 if fits else 1


def fate(status, reason, trial, honest):
    """Whether an attack ended as it must."""
    got, why, ms = trial["status"], trial["reason"] or "", trial["ms"] or 0
    if status == "promoted":
        return got in ("ok", "wrong_result")
    if status == "stopped":
        return (got in ("wrong_result", "rejected", "crashed")
                or (got == "ok" and ms > NO_FASTER * honest))
    return got == status and reason in why


def attacks(name, *size):
    folder = os.path.join(folders, name)
    text = open(os.path.join(folder, "attacks.def"), encoding="utf-8").read()
    listed = re.findall(r'^X\((\d+), "(.*)", (\w+), "(.*)"\)$', text, re.M)
    found, tried, bad = trials(folder, size), 0, 0
    honest = {waste: found[0, waste]["ms"] or 1e9 for waste in (0, 1)}
    for number, what, status, reason in listed:
        for waste in (0, 1):
            trial = found.get((int(number), waste))
            if trial is not None:
                tried += 1
                bad += tell(fate(status.lower(), reason, trial, honest[waste]),
                            f"{number:>2}{'w' if waste else ' '} {what}: {trial['status']} "
                            f"{trial['ms'] or 0:.4g} ms of {honest[waste]:.4g}: {(trial['reason'] or '')[:120]}")
        if status == "PROMOTED":
            tried += 1
            ran = autokernel("check", folder, "--config", f"ATTACK={number},WASTE=0", *size)
            said = ran.stdout + ran.stderr
            bad += tell(ran.returncode != 0 and reason in said, f"{number:>2}c {what}: {said[:300]}")
    print(f"{name} {' '.join(size)}: {tried} attacks tried, {bad} not stopped as they must be", flush=True)
    return bad


def honest_kernels(*size):
    folder = os.path.join(folders, "cuda_honest")
    found, bad = trials(folder, size), 0
    for (number,), trial in sorted(found.items()):
        bad += tell(trial["status"] == "ok",
                    f"honest {number}: {trial['status']} {trial['ms'] or 0:.4g} ms, error "
                    f"{trial['max_error']:.3g}: {trial['reason'] or ''}")
    print(f"cuda_honest {' '.join(size)}: {len(found)} honest kernels tried, {bad} not accepted", flush=True)
    return bad + (len(found) == 0)


def main():
    bad = attacks("cuda")
    bad += attacks("cuda", "--size", "N=8388608,K=32")
    bad += attacks("cuda_in_place")
    bad += attacks("cuda_rows")
    bad += honest_kernels()
    bad += honest_kernels("--size", "M=200,N=1000,K=333")
    return bad > 0


sys.exit(main())
