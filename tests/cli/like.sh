# Tests that what was best elsewhere is tried first and that the output says so: by --like on recordings, and
# by the archive at other sizes and dtypes. A made-up kernel has times of the same order on two "devices".
cat >make.py <<'END'
import json, math, random, sys
name, device, size, kind = sys.argv[1:5]
values = {"a": [1, 2, 4, 8, 16, 32, 64, 128], "b": list(range(1, 9)), "c": list(range(1, 9)), "d": [0, 1, 2]}
if kind == "fewer":
    values["a"] = [3, 6, 12, 24, 48, 96]
if kind == "foreign":
    values = {"p": [1, 2, 3], "q": [1, 2]}
draw, cache = random.Random(device), {}
def time(p):
    if kind == "foreign":
        return p["p"] * p["q"]
    far = abs(math.log2(p["a"]) - 5) + abs(p["b"] - 6) + 0.7 * abs(p["c"] - 2) + 1.5 * (p["d"] != 1)
    return (1 + 0.3 * far + (2 if (p["a"] * p["b"]) % 3 == 0 else 0)) * (0.8 + 0.4 * draw.random())
def each(keys, at):
    if not keys:
        yield dict(at)
        return
    for value in values[keys[0]]:
        yield from each(keys[1:], dict(at, **{keys[0]: value}))
for p in each(list(values), {}):
    cache[",".join(map(str, p.values()))] = dict(p, time=time(p), compile_time=1000, benchmark_time=100)
if kind == "slow":
    good = sorted(cache, key=lambda key: cache[key]["time"])
    cache = {key: cache[key] for key in good[len(good) // 2:]}
json.dump({"device_name": device, "kernel_name": "made", "problem_size": [int(size)], "tune_params_keys": list(values),
           "tune_params": values, "objective": "time", "cache": cache}, open(name, "w"))
END
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
python3 make.py here.json one 64 all
python3 make.py there.json two 64 all
python3 make.py slow.json two 64 slow
python3 make.py fewer.json two 64 fewer
python3 make.py foreign.json two 64 foreign
python3 make.py wide.json one 128 all
score() { autokernel simulate here.json --evals 30 --repeats 60 --score --json "$@" | grep -o '"score":[-0-9.]*' | head -1 | cut -c9-; }
echo "- it is said"
autokernel simulate here.json --like there.json --evals 5 --repeats 1 | grep 'tried first'
autokernel simulate here.json --like there.json --like here.json --evals 5 --repeats 1 --json | grep -o '"like":"[^"]*"'
autokernel simulate here.json --like fewer.json --like foreign.json --evals 5 --repeats 1 | grep 'tried first'
autokernel simulate here.json --like foreign.json --evals 5 --repeats 1 | grep foreign
echo "- a good list helps, a misleading one does not hurt"
alone=$(score) good=$(score --like there.json) slow=$(score --like slow.json) foreign=$(score --like foreign.json)
awk -v a="$alone" -v g="$good" -v s="$slow" -v f="$foreign" 'BEGIN {
    print (g > a + 0.25 ? "better" : "good " g " alone " a), (s > a - 0.03 ? "no worse" : "slow " s " alone " a),
        (f == a ? "the same" : "foreign " f " alone " a)}'
echo "- any strategy"
for s in random local evolve exhaustive; do
    autokernel simulate here.json --like there.json --evals 2 --repeats 5 --strategy $s --json | grep -o '"best":[0-9.]*'
done | sort -u
echo "- the whole tuner on a recording, and its report's own command"
autokernel tune here.json --device sim --like "$PWD/there.json" --evals 6 --archive sim.db 2>&1 | grep 'tried first'
python3 -c 'import json, sqlite3; print(*(json.loads(r[0])["like"] for r in sqlite3.connect("sim.db").execute("select options from runs")))'
autokernel history --archive sim.db --device sim | grep -c 'made'
autokernel report --archive sim.db | grep -o 'autokernel tune.*' | head -1
autokernel tune here.json --device sim --evals 2 --archive other.db 2>&1 | grep -c 'tried first'
autokernel tune wide.json --device sim --evals 6 --archive other.db 2>&1 | grep 'tried first'
autokernel tune wide.json --device sim --evals 6 --archive other.db --like none 2>&1 | grep -c 'tried first'
echo "- a study"
autokernel study here.json --like there.json --arms random,portfolio --seeds 3 --evals 3 --json --quiet | grep -c '"arms"'
autokernel study here.json --like there.json --arms random --seeds 4 --evals 3 --quiet | sed -n 2p
autokernel study here.json --like here.json --arms random --seeds 4 --evals 3 --quiet --json | grep -o '"like":"[^"]*"'
autokernel study here.json --arms random --seeds 4 --evals 3 --quiet --json | grep -o '"like":[^,]*'
autokernel simulate here.json --like here.json --strategy random --repeats 4 | grep 'like'
echo "- what is wrong"
autokernel tune here.json --device sim --like nowhere.json; echo $?
autokernel tune here.json --device sim --like none --like there.json; echo $?
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
echo "- from the archive, between sizes and types"
cp -r $TESTS/../data/kernels/double .
sed -i 's/"dtypes": \["f32"\]/"dtypes": ["f32", "f64"]/; s/"f32": {\(.*\)} }/"f32": {\1}, "f64": {\1} }/' double/problem.json
sed -i 's/"KernelFile": "host.c",/&\n    "Defines": { "WIDE": "1 if dtype_bytes == 8 else 0" },/' double/host.json
sed -i 's/float/T/; s/2.0f/2/' double/host.c
sed -i '1i #if WIDE\ntypedef double T;\n#else\ntypedef float T;\n#endif' double/host.c
autokernel tune ./double --size 1000 --evals 4 2>&1 | grep -c 'tried first'
autokernel tune ./double --size 1000 --evals 4 2>&1 | grep -c 'tried first'
autokernel tune ./double --size 2000 --evals 4 --events events 2>&1 | grep 'tried first'
grep -c '"event": *"like"' events
autokernel tune ./double --size 2000 --dtype f64 --evals 4 2>&1 | grep 'tried first'
autokernel tune ./double --size 4000 --evals 4 --like none 2>&1 | grep -c 'tried first'
echo "- of two versions of the kernel"
echo '/* another version */' >>double/host.c
autokernel tune ./double --size 1000 --evals 4 --like none --quiet >/dev/null 2>&1
autokernel tune ./double --size 3000 --evals 4 2>&1 | grep 'tried first'
echo "- not of a version that was wrong"
cp double/host.c right.c
sed 's/= 2 \*/= 3 */' right.c >double/host.c
autokernel tune ./double --size 5000 --evals 4 --like none --quiet 2>&1 | grep -c 'none of . configurations worked'
cp right.c double/host.c
autokernel tune ./double --size 5001 --evals 4 2>&1 | grep -o 'n=[45]000'
echo "- done"
