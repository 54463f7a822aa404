# An objective over code_bytes counts all code that is loaded, whatever type of section its author gives it.
command -v gcc >/dev/null && command -v python3 >/dev/null || { echo "no gcc or no python3"; exit 77; }
autokernel new kernel mine >/dev/null
sed -i 's/"TuningParameters": \[/&{ "Name": "HIDE", "Values": [0, 1, 2], "Default": 0 },/' mine/host.json
sed -i '1i #if HIDE == 1\
#define PUT __attribute__((section(".hide,\\"ax\\",@note #")))\
#elif HIDE == 2\
#define PUT __attribute__((section(".hide,\\"ax\\",@0x60000001 #")))\
#else\
#define PUT\
#endif
s/^static void task/PUT static void task/' mine/host.c
for hide in 0 1 2; do
    autokernel tune ./mine --size n=64 --fix "HIDE=$hide,UNROLL=8,THREADS=1,COMPILER=gcc,OPT_LEVEL=3" --objective code_bytes \
        --evals 1 --finish-time 0.02 --libraries none --json 2>/dev/null
done | python3 -c '
import json, sys
at, text, sizes = 0, sys.stdin.read(), []
while text[at:].strip():
    run, end = json.JSONDecoder().raw_decode(text[at:].lstrip())
    at = len(text) - len(text[at:].lstrip()) + end
    sizes.append(run["best"]["cost"])
print(len(sizes), [size >= 0.9 * sizes[0] for size in sizes])'
