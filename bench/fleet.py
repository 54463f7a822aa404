#!/usr/bin/env python3
"""Simulates a fleet: trials an hour for 1 to 256 devices, from recorded times.

    python3 bench/fleet.py             # the tables of docs/scale.md
    python3 bench/fleet.py --check     # fails if the efficiency falls below what docs/scale.md promises

There are two ways to use a fleet. Deep: one search over all devices; one tuner hands out compilations and trials,
and flushes results to the disk. Wide: each device has a tuner of its own and tunes one size after the other. In
both, the cores of a device's machine compile what the device measures.

This is a discrete-event simulation of the loop of src/tuner/search.c and src/worker/. As many jobs are in flight
as search.c allows. A job is compiled by a free core of the machine with the least work and measured on the device
of the same machine, because machines share no folder. The results that have arrived share one flush, after which
their devices get the next jobs. Times vary by up to a third in both directions, with a fixed seed.

Inputs that were recorded on H200s with matmul: 0.65 s for a compilation; 5, 20 and 50 ms for a trial; 0.17 ms for
a message and its reply (srun). A compilation that the cache has is assumed to need 10 ms. Inputs that were measured
with bench/fleet_rate.c on two busy cores: the tuner's time for a trial, with the messages of its compilation, of
0.20 ms for many devices and 0.43 ms for one; 0.80 ms for a flush (strace -c -w). Inputs that were measured with the
fake CUDA driver: 0.7 s until the search begins, and 1.8 s for the finish. A real device needs more for its reference
and its comparison; --open and --finish set these two times."""
import heapq
import random
import sys

COMPILE, CACHED, TRIALS = 0.65, 0.01, (0.005, 0.020, 0.050)
TUNER, ALONE, FLUSH, MESSAGE = 0.00020, 0.00043, 0.00080, 0.00017
CORES = 16  # of each machine, for one device
GROUP = 64  # results that share a flush at most
OPEN, FINISH, EVALS, SIZES = 0.7, 1.8, 300, 1024
DEVICES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def tuner_time(devices):
    """Returns the tuner's seconds for a trial. With one device, no other trials share the cost of a turn of its loop."""
    return ALONE if devices == 1 else TUNER


def search(devices, cores, trial, count, compilation=COMPILE, seed=1):
    """Returns the seconds that one tuner needs for `count` trials on `devices` devices with `cores` compile cores each."""
    rng = random.Random(seed)
    vary = lambda mean: mean * rng.uniform(2 / 3, 4 / 3)
    flights, own = devices * cores + 1 + 2 * (devices - 1), tuner_time(devices)
    events, now, order = [], 0.0, 0  # events: (time, order, kind, machine)
    waiting, results, done, sent = 0, [], 0, 0
    free_cores, ready = [cores] * devices, [0] * devices
    idle, held = [True] * devices, [False] * devices
    loads = [(0, i) for i in range(devices)]  # a heap of (work, machine); stale entries are skipped
    load = [0] * devices

    def at(time, kind, machine):
        nonlocal order
        order += 1
        heapq.heappush(events, (time, order, kind, machine))

    def change(machine, by):
        load[machine] += by
        heapq.heappush(loads, (load[machine], machine))

    def begin(machine):  # gives the machine's device its next job
        if ready[machine] and idle[machine] and not held[machine]:
            ready[machine] -= 1
            idle[machine] = False
            at(now + MESSAGE + vary(trial), "measured", machine)

    def compile_some():
        nonlocal waiting
        full = []
        while waiting and loads:
            work, machine = heapq.heappop(loads)
            if work != load[machine]:
                continue
            if not free_cores[machine]:
                full.append((work, machine))
                continue
            waiting -= 1
            free_cores[machine] -= 1
            at(now + MESSAGE + vary(compilation), "compiled", machine)
            change(machine, 1)
        for entry in full:
            heapq.heappush(loads, entry)

    def feed():  # proposes jobs, and starts the compilations for which there is a core
        nonlocal waiting, sent
        more = max(0, min(flights - (sent - done), count - sent))
        waiting, sent = waiting + more, sent + more
        compile_some()

    feed()
    while done < count:
        time, _, kind, machine = heapq.heappop(events)
        now = max(now, time)  # the tuner may still be busy with earlier events
        while True:
            if kind == "compiled":
                free_cores[machine] += 1
                ready[machine] += 1
                begin(machine)
            else:
                results.append(machine)
                idle[machine] = held[machine] = True
            if not events or events[0][0] > now or len(results) == GROUP:
                break
            _, _, kind, machine = heapq.heappop(events)
        if results:
            now += FLUSH + len(results) * own
            done += len(results)
            for machine in results:
                held[machine] = False
                change(machine, -1)
                begin(machine)
            results = []
        feed()
    return now


def deep(devices, trial, compilation=COMPILE):
    """Returns the trials an hour of one search, over enough trials that the first compilations hardly count."""
    count = max(2000, 400 * devices)
    return 3600 * count / search(devices, CORES, trial, count, compilation)


def wide(devices, trial):
    """Returns the trials an hour of tuning SIZES sizes, each of them on one device."""
    one = OPEN + search(1, CORES, trial, EVALS) + FINISH
    rng = random.Random(2)
    free = [0.0] * devices
    heapq.heapify(free)
    for _ in range(SIZES):  # the next size goes to the device that is free first
        heapq.heappush(free, heapq.heappop(free) + one * rng.uniform(0.8, 1.25))
    return 3600 * SIZES * EVALS / max(free)


def model(devices, trial, compilation=COMPILE):
    """Returns an upper bound of the trials an hour: by the devices, the compile cores or the tuner."""
    own = tuner_time(devices)
    return 3600 * min(devices / (trial + MESSAGE + FLUSH + own), devices * CORES / compilation, 1 / own)


def table(title, rate, bound):
    print(f"\n{title}\n")
    head = "".join(f" {1e3 * t:.0f} ms: simulated | model | efficiency |" for t in TRIALS)
    print(f"| devices |{head}\n|---|" + "---|" * (3 * len(TRIALS)))
    one = {t: rate(1, t) for t in TRIALS}
    for d in DEVICES:
        row = f"| {d} |"
        for t in TRIALS:
            r = rate(d, t)
            row += f" {r:,.0f} | {bound(d, t):,.0f} | {r / d / one[t]:.2f} |"
        print(row, flush=True)


def option(name, fallback):
    return float(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else fallback


def main():
    global OPEN, FINISH
    OPEN, FINISH = option("--open", OPEN), option("--finish", FINISH)
    if "--check" in sys.argv:
        worst = min(wide(d, t) / d / wide(1, t) for d in (8, 32) for t in TRIALS)
        rates = {t: deep(1, t) for t in TRIALS}
        deepest = min(deep(32, t) / 32 / rates[t] for t in TRIALS)
        print(f"up to 32 devices, of ideal: wide {worst:.3f}, deep {deepest:.3f}")
        return 0 if min(worst, deepest) >= 0.9 else 1
    table("Wide: a tuner for each device, 1,024 sizes of 300 trials.",
          wide, lambda d, t: d * 3600 * EVALS / (OPEN + FINISH + EVALS * 3600 / model(1, t)))
    table("Deep: one search, and 16 cores beside each device compile.", deep, model)
    table("Deep, everything compiled before (cached): what devices, flush and tuner allow.",
          lambda d, t: deep(d, t, CACHED), lambda d, t: model(d, t, CACHED))
    return 0


if __name__ == "__main__":
    sys.exit(main())
