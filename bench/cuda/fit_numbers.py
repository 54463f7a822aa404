#!/usr/bin/env python3
"""Fits the numbers in the Rank of a space of products to measurements: those with a decimal point; whole numbers are
facts. Prints what the Rank then chooses for each shape.

    python3 bench/cuda/fit_numbers.py FILE.txt... SPACE.json... [--rounds 3] [--seed 1] [--cycles 1750] [--write]

FILE has a line '# config: NAME ...', lines 'config VALUE ...' and lines 'shape MxNxK NUMBER:MICROSECONDS ...', as
bench/results/cuda-2026-11-26-tf32-shapes.txt. The Rank of the first SPACE is fitted, and with --write replaced in all
of them. What is made small is, for each shape, the loss of the configurations that come first (within 1 %), and a
little that of the first eight and the error of the times themselves, which counts most for the fastest. Numbers change
one at a time, in random order. --cycles is how many units of the Rank a microsecond has."""
import argparse, json, math, random, re
import ranks

NUMBER = re.compile(r"(?<![\w.])\d+\.\d+")
LAYOUT, PROCESSORS = "nn", 132 # of the measurements: the layout, and the SMs of the device
# Other names that a Rank may read. In the measurements no rows are padded, and there is one device.
FACTS = "pad_a=0, pad_b=0, compute_capability=90, shared_bytes_sm=233472, registers_sm=65536"

def read(paths):
    names, shapes = [], {}
    for path in paths:
        configs = []
        for line in open(path):
            if line.startswith("# config: "):
                names = line.split()[2:]
            elif line.startswith("config "):
                configs.append(dict(zip(names, map(int, line.split()[1:]))))
            elif line.startswith("shape "):
                size, *times = line.split()[1:]
                measured = shapes.setdefault(tuple(map(int, size.split("x"))), [])
                measured += [(configs[int(i)], float(t)) for i, t in (w.split(":") for w in times)]
    return names, shapes

def compiled(rank, names):
    """Returns the Rank as a function of its numbers, the sizes and the parameters; the numbers; and their texts. A number that occurs
    more than once is one argument."""
    numbers = list(dict.fromkeys(NUMBER.findall(rank)))
    text = NUMBER.sub(lambda m: "x[%d]" % numbers.index(m[0]), rank)
    code = "lambda x, M, N, K, layout, sm_count, PAD_A, PAD_B, %s, %s: %s" % (", ".join(names), FACTS, text)
    return eval(code, {"log2": math.log2, "min": min, "max": max}), [float(n) for n in numbers], numbers

def judge(rank, x, shapes, cycles, show=False):
    loss = 0
    for (m, n, k), measured in shapes.items():
        best, order = min(t for _, t in measured), []
        for config, time in measured:
            expected = rank(x, m, n, k, LAYOUT, PROCESSORS, int(k % 4 != 0), int(n % 4 != 0), **config)
            if isinstance(expected, complex) or not 0 < expected < math.inf:
                return math.inf
            order.append((expected, time))
        order.sort(key=lambda pair: pair[0])
        near = [t for e, t in order if e <= order[0][0] * 1.01]
        first = sum(math.log(t / best) for t in near) / len(near)
        eight = math.log(min(t for _, t in order[:8]) / best)
        error = sum(min(1, math.log(e / cycles / t) ** 2) * (best / t) ** 2 for e, t in order) / len(order)
        loss += first + 4 * first ** 2 + eight / 2 + 1.5 * error
        if show:
            print("%6d x %5d x %5d  best %8.2f us, of the first %.3f, of the first eight %.3f, error %.3f" %
                  (m, n, k, best, best / order[0][1], math.exp(-eight), math.sqrt(error)))
    return loss / len(shapes)

def fit(rank, x, shapes, cycles, rounds, seed):
    begin, draw, best = list(x), random.Random(seed), judge(rank, x, shapes, cycles)
    for _ in range(rounds):
        for i in draw.sample(range(len(x)), len(x)):
            for factor in (1.5, 1 / 1.5, 1.15, 1 / 1.15, 1.04, 1 / 1.04):
                changed = x[:i] + [x[i] * factor] + x[i + 1:]
                loss = judge(rank, changed, shapes, cycles) if 0.1 < changed[i] / begin[i] < 10 else math.inf
                if loss < best - 1e-6:
                    best, x = loss, changed
        print("loss %.5f" % best, flush=True)
    return x

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", metavar="FILE.txt|SPACE.json")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cycles", type=float, default=1750)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    spaces = [path for path in args.paths if path.endswith(".json")]
    names, shapes = read(path for path in args.paths if path not in spaces)
    if not spaces or not shapes:
        parser.error("give files of measurements (.txt) and a space file or several (.json)")
    before = json.load(open(spaces[0]))["Rank"]
    rank, x, numbers = compiled(ranks.written_out(before), names)
    x = fit(rank, x, shapes, args.cycles, args.rounds, args.seed)
    judge(rank, x, shapes, args.cycles, show=True)
    def written(match):
        number = "%.4g" % x[numbers.index(match[0])]
        return number if "." in number else number + ".0"
    fitted = json.loads(NUMBER.sub(written, json.dumps(before)))
    for path in spaces if args.write else []:
        space = open(path).read()
        assert json.loads(space)["Rank"] == before
        open(path, "w").write(ranks.replaced(space, fitted))

if __name__ == "__main__":
    main()
