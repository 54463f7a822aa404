# What is said of a configuration that was checked at few sizes: by check, by tune in its finish, and by a bundle,
# which serves no sizes of which it is known that none could be checked, or that one gave a wrong result.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
autokernel new kernel mine >/dev/null
cat >mine/host.c <<'END'
void ak_kernel(const ak_host_call *call)
{
    int64_t n = call->size[0];
    const float *x = call->arg[0], *y = call->arg[1];
    float *z = call->arg[2];
#if P == 1
    n = n == WRONG ? n / 2 : n;
#endif
    for (int64_t i = 0; i < n; i++) {
        z[i] = 2.0f * x[i] + y[i];
    }
}
END
# make CONDITION WRONG AWKWARD: the kernel, where P=1 has the condition and is wrong at the size WRONG
make() {
    cat >mine/host.json <<END
{"ConfigurationSpace": {"TuningParameters": [{"Name": "P", "Type": "int", "Values": [0, 1], "Default": 0}],
  "Conditions": [{"Expression": "P == 0 or $1", "EverySize": true}]},
 "KernelSpecification": {"Language": "C", "KernelName": "ak_kernel", "KernelFile": "host.c",
  "CompilerOptions": ["-std=gnu17", "-O3", "-DWRONG=$2"], "Threads": "1"}}
END
    python3 - "$3" <<'END'
import json, sys
problem = json.load(open("mine/problem.json"))
problem["sizes"][0]["default"] = 65536
problem["awkward"] = [{"n": n} for n in json.loads(sys.argv[1])]
json.dump(problem, open("mine/problem.json", "w"))
END
}
check() { autokernel check ./mine --config 'P=0;P=1' --quiet 2>&1 | grep -E -o '.* (is|are) right.*|a size drawn at random'; }
tune() { rm -f few.db; autokernel tune ./mine --strategy exhaustive --evals 8 --libraries none --fix P=1 --quiet --archive few.db "$@" 2>&1 | grep 'warning.*checked'; }
ship() {
    local id
    id=$(autokernel history ./mine --archive few.db | awk '/n=65536/ && /P=1/ {print $1; exit}')
    autokernel export ./mine --config "#$id" --archive few.db --format bundle --output few.akb 2>&1
    autokernel bundle show few.akb | grep ^variant
    autokernel bundle verify few.akb --max-slowdown 10000% 2>/dev/null | grep ^variant
}
edges='[1, 7, 33, 1023, 1025]'
echo "-- all"
make 'n > 0' 0 "$edges"; check; tune; ship
echo "-- conditions leave multiples of 4096, of which one is found"
make 'n % 4096 == 0' 0 "$edges"; check; tune; ship
sed -i 's/n == WRONG/n != 65536/' mine/host.c
check
sed -i 's/n != 65536/n == WRONG/' mine/host.c
echo "-- conditions leave the own size"
make 'n == 65536' 0 "$edges"; check; tune; ship
autokernel export ./mine --archive few.db --format bundle --output few.akb --force --json 2>/dev/null | grep -o '"notes".*"P=1 serves the measured sizes only'
echo "-- no size is between those that are listed"
make 'n > 0' 0 '[32768]'; check; tune; ship
echo "-- none is listed"
make 'n > 0' 0 '[]'; check; tune; ship
echo "-- wrong at another size of the archive"
make 'n > 0' 5000 "$edges"; tune --sizes '65536;5000'; ship
echo "-- wrong at an edge-case size, too, which its bundle does not serve"
sed -i 's/n == WRONG/n == WRONG || n == 33/' mine/host.c
for size in 65536 5000; do autokernel tune ./mine --size $size --strategy exhaustive --evals 8 --libraries none --fix P=1 --quiet --archive edge.db >/dev/null 2>&1; done
autokernel export ./mine --config '#1' --archive edge.db --format bundle --output edge.akb
autokernel bundle verify edge.akb --max-slowdown 10000% 2>/dev/null | grep -o '^n=65536  [a-z_]*'
echo "-- wrong at an edge-case size only"
make 'n > 0' 33 "$edges"; tune; ship
