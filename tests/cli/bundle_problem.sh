# What bundle.json says of the problem is what the problem in the bundle says, and the test of an export as C has
# the tolerances of each output.
for tool in gcc python3; do command -v $tool >/dev/null || { echo "no $tool"; exit 77; }; done
autokernel new kernel three >/dev/null
python3 - <<'END'
import json
problem = json.load(open("three/problem.json"))
problem["arguments"][1]["fill"] = "uniform(0,1+n/1000)"
for name, tolerance in ("W", {"relative": "0.009"}), ("V", {"relative": "0", "absolute": "0.001"}):
    problem["arguments"].append({"name": name, "dtype": "dtype", "shape": ["2*n/2"], "access": "out", "tolerance": tolerance})
json.dump(problem, open("three/problem.json", "w"))
for name, line, kind, factor, more in (("host.c", "    call->parallel(call->pool, n, task, &w);", "float", 1.005, 0.0008),
                                       ("reference.c", "    for (int64_t i = 0", "double", 1.0, 0.0)):
    text = open("three/" + name).read()
    open("three/" + name, "w").write(text.replace(line, f"""    for (int64_t k = 0; k < call->size[0]; k++) {{
        const {kind} a = ((const {kind} *)call->arg[0])[k], b = ((const {kind} *)call->arg[1])[k];
        (({kind} *)call->arg[3])[k] = {factor} * (3 * a - b);
        (({kind} *)call->arg[4])[k] = {more} + a * b;
    }}
""" + line))
END
autokernel check ./three --size n=100 --device host --config UNROLL=4,THREADS=1,COMPILER=gcc,OPT_LEVEL=3 --quiet | tail -n 1
autokernel tune ./three --size n=100 --device host --fix COMPILER=gcc --evals 1 --quiet >/dev/null 2>&1
autokernel export ./three --device host --format c >/dev/null
run() { gcc -O1 -Wall -Wextra -Werror "$1" three_f32/three_f32.c -Ithree_f32 -ldl -lm -pthread -o test && env -i ./test | sed 's/ [1-9][0-9]* elements/ some elements/'; }
run three_f32/test_three_f32.c
for wrong in 's/1\.0 \* (3/0.99 * (3/' 's/, 0\.001}/, 0.0007}/'; do
    sed "$wrong" three_f32/test_three_f32.c >other.c
    cmp -s other.c three_f32/test_three_f32.c && echo "nothing was changed"
    run other.c
done
autokernel export ./three --device host --format bundle --output whole/ >/dev/null
autokernel bundle verify whole --max-slowdown 10000% | tail -n 1 | cut -c1-30
# What fills arrays depends on the size in bundles of many sizes.
autokernel tune ./three --sizes '100;200' --device host --fix COMPILER=gcc --evals 2 --dispatch 1 --quiet >/dev/null 2>&1
autokernel export ./three --device host --table --format bundle --output sizes.akb >/dev/null
autokernel bundle verify sizes.akb --max-slowdown 10000% --json | grep -o '"ok":true'
echo "-- bundles whose checksums fit and which say something else than their problem"
other() {
    rm -rf other && cp -r whole other
    python3 - "$1" <<'END'
import json, sys
bundle = json.load(open("other/bundle.json"))
arguments = bundle["arguments"]
exec(sys.argv[1])
json.dump(bundle, open("other/bundle.json", "w"))
END
    (cd other && sha256sum bundle.json >bundle.sha256)
    autokernel bundle verify other --max-slowdown 10000%
    echo "exit $?"
}
other 'arguments[3]["name"], arguments[4]["name"] = "V", "W"'
autokernel bundle show other
other 'arguments[3]["name"] = "Q"; arguments[4]["name"] = "W"; arguments[2]["extents"] = ["n + 0"]'
other 'arguments[3], arguments[4] = arguments[4], arguments[3]'
other 'arguments[4].update(shape=[[1]], extents=["1"])'
autokernel bundle show other
other 'arguments[4]["shape"] = [[1]]'
other 'arguments[2]["dtype"] = "f64"'
other 'arguments[0]["access"] = "inout"'
other 'bundle["variants"][0]["when"] = [2]'
other 'bundle["variants"][0]["workspace"] = ["n"]'
other 'bundle["variants"][0]["threads"] = [2]'
other 'bundle["measured"][0]["workspace_bytes"] = 64'
other 'bundle["variants"][0].update(workspace=None, threads=None)' | tail -n 1
other 'arguments[0]["alignment"] = 128'
other 'arguments[0]["unused"] = True'
other 'arguments.pop()'
other 'bundle["sizes"][0]["description"] = "bytes"'
other 'bundle["description"] = "Z = X"'
other 'bundle["measured"][0]["tolerances"][2]["relative"] = 1.0'
echo "-- bundles whose evidence nothing can have measured"
other 'bundle["measured"][0].update(ms=-1, ci_ms=None)'
autokernel bundle show other
other 'bundle["measured"][0].update(ms=0, ci_ms=None)'
other 'bundle["measured"][0].update(ms=1, ci_ms=[3, 2])'
other 'bundle["measured"][0]["search"] = {"ms": "fast"}'
other 'bundle["measured"][0]["samples"] = -1'
echo "-- the default that is the reference is that of the run, which --fix held to a part of the space"
autokernel new kernel held >/dev/null
sed -i 's/ + w->y\[/ + UNROLL * w->y[/' held/host.c
sed -i 's/"reference": "reference.c"/"reference": "default"/' held/problem.json
autokernel tune ./held --size n=100 --device host --fix UNROLL=2,COMPILER=gcc --evals 1 --quiet >/dev/null 2>&1
autokernel export ./held --device host --format bundle --output held.akb >/dev/null
tar xOf held.akb bundle.json | grep '"fix"'
autokernel bundle verify held.akb --max-slowdown 10000% --json | grep -o '"ok":[a-z]*'
