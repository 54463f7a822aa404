#!/usr/bin/env python3
"""Writes tiny.json (left open, as by a run that was stopped) and tiny.json.gz (closed), and prints the
figures that test_recording.c and test_replay.c expect of them: the method of doi
10.1016/j.future.2024.05.021 step by step, in plain Python. Usage: derive.py FOLDER"""
import gzip, json, math, os, statistics, sys

X, Y, Z = [1, 2, 4, 8, 16], [1, 2, 3, 4], ["b", "a"]

def entry(x, y, z):
    i = x + 3 * y + len(z)
    one = {"x": x, "y": y, "z": z, "compile_time": 400.5 + 10 * x, "verification_time": 3.25,
           "benchmark_time": 100.0 + 7 * y, "strategy_time": 0.5, "framework_time": 20.125}
    if x == 16 and z == "b":
        one.update(time="RuntimeFailedConfig", benchmark_time=0)
    elif (x, y, z) == (1, 4, "a"):
        one.update(time="CompilationFailedConfig", benchmark_time=0)
    else:
        one["time"] = 1 + 0.7 * abs(math.log2(x) - 2) + 0.31 * (y - 3) ** 2 + (z == "b") / 2 + i % 5 / 100
    return one

cache = {f"{x},{y},{z}": entry(x, y, z) for x in X for y in Y for z in Z if x * y <= 32}
head = {"device_name": "a device", "kernel_name": "tiny", "problem_size": [64, 32],
        "tune_params_keys": ["x", "y", "z"], "tune_params": {"x": X, "y": Y, "z": Z}, "objective": "time"}
closed = json.dumps({**head, "cache": cache}, indent=0)
folder = sys.argv[1]
with open(os.path.join(folder, "tiny.json"), "w") as file:
    file.write(closed.rstrip("}\n") + "\n},\n")
with open(os.path.join(folder, "tiny.json.gz"), "wb") as file:
    file.write(gzip.compress(closed.encode(), 9, mtime=0))

entries = list(cache.values())
stages = ["compile_time", "benchmark_time", "framework_time", "strategy_time", "verification_time"]
cost = [sum(e[s] for s in stages) / 1000 for e in entries]
value = [e["time"] if isinstance(e["time"], float) else None for e in entries]
best_first = sorted(v for v in value if v is not None)
n, optimum, median = len(best_first), best_first[0], statistics.median(best_first)
worked = [c for c, v in zip(cost, value) if v is not None]
failed = [c for c, v in zip(cost, value) if v is None]
each = statistics.mean(worked) + len(failed) / len(cost) * statistics.mean(failed)

def cutoff(p):
    target = optimum + (median - optimum) * (1 - p)
    worst_first = best_first[::-1]
    i = next(k for k, v in enumerate(worst_first) if v <= target)
    draws = math.ceil(i / (n + 1 - i))
    return target, draws, draws * statistics.median(cost)

def random_search(t):
    draws = max(1, round(t / each))
    return best_first[::-1][min(n - 1, round(draws * (n + 1) / (draws + 1)))]

def score(runs):
    first, last, total, points = cutoff(0.01)[2], cutoff(0.95)[2], 0.0, 0
    for k in range(1000):
        t, ranks = first + (last - first) * k / 999, 0
        for run in runs:
            spent, best = 0.0, None
            for seconds, v in run:
                spent += seconds
                if spent > t:
                    break
                if v is not None and (best is None or v < best):
                    best = v
            ranks += n - 1 if best is None else best_first.index(best)
        base = random_search(t)
        if base > optimum:
            total += (base - best_first[round(ranks / len(runs))]) / (base - optimum)
            points += 1
    return total / points, points

def budget(run):  # until 1.1 times the cut-off
    out, spent = [], 0.0
    for step in run:
        if spent >= 1.1 * cutoff(0.95)[2]:
            break
        out.append(step)
        spent += step[0]
    return out

in_order = budget(zip(cost, value))
backwards = budget(zip(cost[::-1], value[::-1]))
third = budget(zip(cost[2::3], value[2::3]))
print("configurations", len(cost), "ok", n, "optimum", repr(optimum), "median", repr(median))
print("seconds_median", repr(statistics.median(cost)), "seconds_each", repr(each))
print("cut-offs", [cutoff(p) for p in (0.01, 0.95)])
print("random search", [random_search(cutoff(0.95)[2] * q) for q in (0.25, 0.5, 0.75, 1)])
print("score in order", score([in_order]), "evaluations", len(in_order), "failed", sum(v is None for _, v in in_order))
print("score of three", score([in_order, backwards, third]))
