#!/usr/bin/env python3
"""Simulates the ring of slots in kernels/matmul/cuda_gemm_sm90.cu: the producers and consumers of the blocks of a cluster and the
barriers between them take steps in random order. It counts the schedules in which they wait for each other for ever.

    python3 bench/cuda/ring_model.py [SCHEDULES]        default 200 of each case

It compares two variants: `each` counts EARLY_SLOTS anew for each piece of work, which can hang; `once` counts them once, as the
kernel does. The exit status is 1 if `once` hangs."""
import random, sys
from itertools import accumulate

# cluster (M x N blocks), slots, EARLY_SLOTS, slots that each piece of work fills
CASES = [((2, 2), 9, 4, [4] * 24), ((2, 4), 3, 4, [4] * 5), ((2, 2), 4, 4, [4] * 8), ((2, 2), 3, 4, [64]), ((2, 2), 9, 4, [4, 5, 4] * 8),
         ((2, 1), 4, 4, [3] * 8), ((2, 2), 8, 2, [16] * 2), ((4, 2), 6, 2, [1] * 20)]
BYTES = 12  # of an operand in a slot; any number that the rows and columns of each cluster divide
PATIENCE = 4000  # successive steps without progress, after which a schedule counts as hanging

class Barrier:
    def __init__(self, count):
        self.count = self.missing = count
        self.bytes = self.phase = 0
    def change(self, arrivals, more):
        self.missing -= arrivals
        self.bytes += more
        assert self.missing >= 0
        if self.missing == 0 and self.bytes == 0:
            self.phase += 1
            self.missing = self.count
    def has_ended(self, parity):
        return self.phase & 1 != parity

def ends(cluster, slots, early, pieces, once, seed):
    chance = random.Random(seed)
    blocks = [(m, n) for n in range(cluster[1]) for m in range(cluster[0])]
    mates = {b: [x for x in blocks if x[0] == b[0] or x[1] == b[1]] for b in blocks}
    full = {b: [Barrier(1) for _ in range(slots)] for b in blocks}
    empty = {b: [Barrier(sum(cluster) - 1) for _ in range(slots)] for b in blocks}
    on_the_way = []  # copies that were begun: (block, slot, bytes)

    def producer(b):
        slot, parity, together, alone = 0, 1, False, min(early, slots)
        for piece in pieces:
            for i in range(piece):
                if not together:
                    together = alone == 0 if once else i >= early
                    alone -= 1
                while not empty[b][slot].has_ended(parity):
                    yield False
                full[b][slot].change(1, 2 * BYTES)
                if together:
                    on_the_way.extend((x, slot, BYTES // cluster[1]) for x in blocks if x[0] == b[0])
                    on_the_way.extend((x, slot, BYTES // cluster[0]) for x in blocks if x[1] == b[1])
                else:
                    on_the_way.append((b, slot, 2 * BYTES))
                yield True
                slot, parity = (slot + 1, parity) if slot + 1 < slots else (0, parity ^ 1)

    def consumer(b):
        slot, parity = 0, 0
        for piece in pieces:
            for _ in range(piece):
                while not full[b][slot].has_ended(parity):
                    yield False
                for x in mates[b]:
                    empty[x][slot].change(1, 0)
                    yield True
                slot, parity = (slot + 1, parity) if slot + 1 < slots else (0, parity ^ 1)

    actors = [(role(b), chance.choice([1, 1, 1 / 3, 1 / 20])) for b in blocks for role in (producer, consumer)]
    idle = 0
    upto = list(accumulate(speed for _, speed in actors))
    while actors and idle < PATIENCE:
        if on_the_way and chance.random() < 0.5:
            block, slot, count = on_the_way.pop(chance.randrange(len(on_the_way)))
            full[block][slot].change(0, -count)
            idle = 0
            continue
        k = chance.choices(range(len(actors)), cum_weights=upto)[0]
        try:
            idle = 0 if next(actors[k][0]) else idle + 1
        except StopIteration:
            actors.pop(k)
            upto = list(accumulate(speed for _, speed in actors))
            idle = 0
    return not actors

def main():
    schedules = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    faults = 0
    print("cluster  slots  early  pieces            each: hang   once: hang   of")
    for cluster, slots, early, pieces in CASES:
        hang = [sum(not ends(cluster, slots, early, pieces, once, seed) for seed in range(schedules)) for once in (False, True)]
        faults += hang[1]
        print("%dx%d %9d %6d  %-20s %8d %12d %4d" % (*cluster, slots, early, "%d of %s" % (len(pieces), "/".join(map(str, sorted(set(pieces))))), *hang, schedules))
    sys.exit(1 if faults else 0)

main()
