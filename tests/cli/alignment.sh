# Arrays and the workspace are aligned to the 64 bytes that callers promise, and at other sizes than the task's own to
# no more: a kernel that relies on 128 or 4096 is found out.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
autokernel new kernel mine >/dev/null
python3 - <<'P' || exit 77
import json
space = json.load(open("mine/host.json"))
space["ConfigurationSpace"]["TuningParameters"].append({"Name": "RELIES", "Type": "int", "Values": [0, 1, 2, 3], "Default": 0})
space["KernelSpecification"]["Workspace"] = "100"
json.dump(space, open("mine/host.json", "w"))
P
sed -i 's/^    call->parallel(/    const uintptr_t all = (uintptr_t)w.x | (uintptr_t)w.y | (uintptr_t)w.z;\
    const uintptr_t own = (uintptr_t)call->workspace;\
    if (((all | own) \& 63) != 0 || (RELIES == 1 \&\& (all \& 127) != 0) || (RELIES == 2 \&\& (own \& 127) != 0)) {\
        return;\
    }\
    if (RELIES == 3) {\
        ((volatile unsigned char *)call->workspace)[-1] = 0;\
    }\
&/' mine/host.c
for relies in 0 1 2 3; do
    autokernel check ./mine --size n=64 --quiet --config "UNROLL=4,THREADS=1,COMPILER=gcc,OPT_LEVEL=2,RELIES=$relies" 2>&1 |
        sed -E 's/  largest error .* allowed;//; /^next/d'
done
