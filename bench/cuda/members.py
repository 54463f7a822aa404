#!/usr/bin/env python3
"""Writes the members of the family of kernels/matmul/cuda_sm90.json that its Rank puts first for each
shape, as variants of gemm_bench. Needs numpy. A line names the shape that it is for.

    python3 bench/cuda/members.py MxNxK... [--count 24] [--resident 2:132,4:128] > variants.txt

Members that Rank expects to take the same time (within 0.2 %) are tried once, as the tuner does; with
--diverse, so are those with the same tile, cluster, parts of K and schedule."""
import argparse, json
import numpy as np
import ranks
from fit_rank import MACROS, arrays

SHORT = dict({macro: name for name, macro in MACROS.items()}, EVICT_A="ea")
DEVICE = dict(sm_count=132, shared_bytes_max=232448, shared_bytes_sm=233472, compute_capability=90, registers_sm=65536,
              threads_sm=2048, l2_bytes=52428800)
CHOICES = dict(layout="nn", alpha=1, beta=0, pad_a=0, pad_b=0, pad_c=0)

def value(text, names):
    scope = dict(names, max=np.maximum, min=np.minimum, log2=np.log2, choose=np.where, int=np.int64)
    return eval(arrays(text), {"__builtins__": {}}, scope)

def members(space, shape):
    """Returns a dictionary of arrays, one for each parameter, with all members of the family; and an array of their Ranks."""
    fixed = dict(DEVICE, **CHOICES, **dict(zip("MNK", shape)))
    parameters = space["ConfigurationSpace"]["TuningParameters"]
    family = next(s for s in space["ConfigurationSpace"]["Starts"] if "Family" in s)
    conditions = [c["Expression"] for c in space["ConfigurationSpace"]["Conditions"]] + family["Where"]
    order = [p["Name"] for p in parameters]
    last = lambda text: max([order.index(n) for n in order if n in text.replace("(", " ").replace(")", " ").replace("*", " ")
                             .replace("/", " ").replace("+", " ").replace("-", " ").split()] or [0])
    table, rows = {}, 1
    def prune(keep):
        nonlocal table
        table = {k: v[keep] for k, v in table.items()}
    for at, parameter in enumerate(parameters):
        name, values = parameter["Name"], np.array(parameter["Values"])
        rows = len(next(iter(table.values()))) if table else 1
        scope = dict(fixed, **table)
        if name in family["Family"]:
            columns = []
            for option in family["Family"][name]:
                wanted = np.broadcast_to(value(option, scope) if isinstance(option, str) else option, rows)
                index = np.searchsorted(np.sort(values), wanted, "right") - 1 # the largest value that is not above it
                columns.append(np.where(index < 0, -1, np.sort(values)[np.maximum(index, 0)]))
            if name == "num_stages": # the family names an upper limit; the conditions decide below how many slots fit
                columns = [np.where(values[i] <= np.max(columns, axis=0), values[i], -1) for i in range(len(values))]
        else:
            columns = [np.full(rows, v) for v in values]
        table = {k: np.tile(v, len(columns)) for k, v in table.items()}
        table[name] = np.concatenate(columns)
        prune(table[name] >= 0)
        for text in conditions:
            if last(text) == at and (at > 0 or any(n in text for n in order)):
                prune(np.broadcast_to(value(text, dict(fixed, **table)), len(table[name])).astype(bool))
    # Of members that agree in all parameters that the family names (num_stages apart), keep the one with the most defaults in the
    # others, and of these the one with most slots.
    scope, named = dict(fixed, **table), family["Family"]
    default = lambda p: value(p["Default"], scope) if isinstance(p["Default"], str) else p["Default"]
    usual = sum((table[p["Name"]] == default(p)).astype(int) for p in parameters if p["Name"] not in named)
    others = np.stack([table[n] for n in order if n in named and n != "num_stages"])
    by = np.lexsort(np.vstack([table["num_stages"], usual, others]))
    ends = np.ones(len(by), bool)
    ends[:-1] = (others[:, by[1:]] != others[:, by[:-1]]).any(axis=0)
    prune(by[ends])
    scope = dict(fixed, **table)
    for name, text in ranks.parts_of(space["Rank"]):
        scope[name] = value(text, scope)
    return table, scope["Value"]

def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("shapes", nargs="+")
    ap.add_argument("--count", type=int, default=24)
    ap.add_argument("--diverse", action="store_true")
    ap.add_argument("--space", default="kernels/matmul/cuda_sm90.json")
    args = ap.parse_args()
    space = json.load(open(args.space))
    for text in args.shapes:
        shape = tuple(map(int, text.split("x")))
        table, rank = members(space, shape)
        seen, kept = set(), []
        for i in np.argsort(rank, kind="stable"):
            config = {k: int(v[i]) for k, v in table.items()}
            kind = tuple(config[n] for n in ("SWAP_AB", "NUM_CONSUMERS", "PING_PONG", "BLOCK_SIZE_M", "BLOCK_SIZE_N", "CLUSTER_M",
                                             "CLUSTER_N", "CLUSTER_K", "SPLIT_K")) if args.diverse else round(float(np.log(rank[i])) / 2e-3)
            if kind in seen:
                continue
            seen.add(kind)
            kept.append(" ".join("%s=%d" % (SHORT[k], v) for k, v in config.items() if k in SHORT) + " l2=2 " + text)
            if len(kept) == args.count:
                break
        print("# %s: %d members" % (text, len(rank)))
        print("\n".join(kept))

if __name__ == "__main__":
    main()
