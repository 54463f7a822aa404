#!/usr/bin/env python3
"""Simulates a fleet: trials an hour for 1 to 256 devices, from recorded times.

    python3 bench/fleet.py             # the tables of docs/scale.md
    python3 bench/fleet.py --check     # fails if the efficiency falls below what docs/scale.md promises

Two shapes. Deep: one search over all devices; one tuner compiles on its own cores, hands out trials and
flushes results to the disk. Wide: each device has a tuner and cores of its own and tunes one size after the
other. A discrete-event simulation of the loop of src/tuner/search.c and src/worker/: as many jobs in flight as
tuner.c allows, each compiled by a free core and then measured by a free device; results that have come share
one flush, after which their devices get the next jobs. Times vary by a third either way, with a fixed seed.

Inputs (seconds), all measured: a compilation 0.65 and trials of 5, 20 and 50 ms (H200, matmul); the tuner's
own time for a trial 0.15 ms and a flush 2 ms (bench/fleet_rate.c on a busy machine); a message there and back
0.17 ms (srun). A size of the wide shape: 4.2 s until the search begins, 300 trials, 8 s of finish."""
import heapq
import random
import sys

COMPILE, TRIALS = 0.65, (0.005, 0.020, 0.050)
TUNER, FLUSH, MESSAGE = 0.00015, 0.002, 0.00017
CORES = 16  # of the tuner's machine, and of each node
GROUP = 64  # results that share a flush at most
OPEN, FINISH, EVALS, SIZES = 4.2, 8.0, 300, 1024
DEVICES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def search(devices, cores, trial, count, seed=1):
    """Returns how long `count` trials take: one tuner, so many devices and compile cores."""
    rng = random.Random(seed)
    vary = lambda mean: mean * rng.uniform(2 / 3, 4 / 3)
    flights = CORES + 1 + 2 * (devices - 1) if cores == CORES else cores + 1 + 2 * (devices - 1)
    events, now, order = [], 0.0, 0  # events: (time, order, kind)
    waiting, ready, results, done, sent = 0, 0, 0, 0, 0
    free_cores, free_devices = cores, devices

    def at(time, kind):
        nonlocal order
        order += 1
        heapq.heappush(events, (time, order, kind))

    def feed():  # proposes, compiles and measures what can begin now
        nonlocal waiting, ready, sent, free_cores, free_devices
        pending = sent - done
        more = max(0, min(flights - pending, count - sent))
        waiting, sent = waiting + more, sent + more
        while waiting and free_cores:
            waiting, free_cores = waiting - 1, free_cores - 1
            at(now + vary(COMPILE), "compiled")
        while ready and free_devices:
            ready, free_devices = ready - 1, free_devices - 1
            at(now + MESSAGE + vary(trial), "measured")

    feed()
    while done < count:
        time, _, kind = heapq.heappop(events)
        now = max(now, time)  # the tuner may still be busy with what came before
        while True:
            if kind == "compiled":
                ready, free_cores = ready + 1, free_cores + 1
            else:
                results += 1
            if not events or events[0][0] > now or results == GROUP:
                break
            kind = heapq.heappop(events)[2]
        if results:
            now += FLUSH + results * TUNER
            done, free_devices, results = done + results, free_devices + results, 0
        feed()
    return now


def deep(devices, trial, cores=CORES):
    """Trials an hour of one search."""
    count = max(2000, 40 * devices)
    return 3600 * count / search(devices, cores, trial, count)


def wide(devices, trial):
    """Trials an hour of SIZES sizes, each tuned by one of the devices."""
    one = OPEN + search(1, CORES, trial, EVALS) + FINISH
    rng = random.Random(2)
    free = [0.0] * devices
    heapq.heapify(free)
    for _ in range(SIZES):  # the next size goes to the first free node
        heapq.heappush(free, heapq.heappop(free) + one * rng.uniform(0.8, 1.25))
    return 3600 * SIZES * EVALS / max(free)


def model(devices, trial, cores):
    """The bound: devices, compile cores or the tuner."""
    return 3600 * min(devices / (trial + MESSAGE + FLUSH + TUNER), cores / COMPILE, 1 / TUNER)


def table(title, rate, bound):
    print(f"\n{title}\n")
    head = "".join(f" {1e3 * t:.0f} ms: simulated | model | efficiency |" for t in TRIALS)
    print(f"| devices |{head}\n|---|" + "---|" * (3 * len(TRIALS)))
    one = {t: rate(1, t) for t in TRIALS}
    low = {}
    for d in DEVICES:
        row = f"| {d} |"
        for t in TRIALS:
            r = rate(d, t)
            low[d] = min(low.get(d, 9), r / d / one[t])
            row += f" {r:,.0f} | {bound(d, t):,.0f} | {r / d / one[t]:.2f} |"
        print(row, flush=True)
    return low


def main():
    if "--check" in sys.argv:
        worst = min(wide(d, t) / d / wide(1, t) for d in (8, 32) for t in TRIALS)
        slow = deep(4, 0.02, 64) / deep(1, 0.02, 64)
        print(f"wide: {worst:.3f} of ideal up to 32 devices; deep, 4 devices and 64 cores: {slow:.2f} times one")
        return 0 if worst >= 0.9 else 1
    table("Wide: a tuner, 16 cores and an archive for each device, 1,024 sizes of 300 trials.",
          wide, lambda d, t: d * 3600 * EVALS / (OPEN + FINISH + EVALS * 3600 / model(1, t, CORES)))
    table("Deep, the 16 cores of the tuner's machine compile.",
          deep, lambda d, t: model(d, t, CORES))
    table("Deep, everything compiled before (cached), which is what devices and tuner alone allow.",
          lambda d, t: deep(d, t, 64 * d * CORES), lambda d, t: model(d, t, 64 * d * CORES))
    return 0


if __name__ == "__main__":
    sys.exit(main())
