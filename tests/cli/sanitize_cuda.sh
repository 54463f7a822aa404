# --sanitize on a driver that needs no GPU, with a stand-in for compute-sanitizer that preloads a library as
# the tool does. The process that the tool starts must start no other, because the tool would follow and wait
# for that one, and must keep the environment that the tool has made.
[ -n "${AK_TEST_FAKE_CUDA:-}" ] || { echo "no fake driver"; exit 77; }
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
autokernel doctor --json | grep -q '"seccomp": *true' || { echo "a build with sanitizers"; exit 77; }
for library in CUDA NVRTC NVML CUBLASLT CUDNN; do export AUTOKERNEL_LIB$library="$AK_TEST_FAKE_CUDA"; done
export AUTOKERNEL_ARCHIVE=$PWD/archive.db XDG_CACHE_HOME=$PWD/cache
cat >watch.c <<'C'
#include <stdlib.h>
#include <string.h>
long write(int, const void *, unsigned long);
void _exit(int);
#define STARTS(name)                                                            \
    int name(void)                                                              \
    {                                                                           \
        static const char text[] = "\n========= it starts a process: " #name "\n"; \
        (void)!write(1, text, sizeof text - 1);                                 \
        _exit(99);                                                              \
    }
STARTS(fork) STARTS(vfork) STARTS(posix_spawn) STARTS(execve) STARTS(clone)
__attribute__((destructor)) static void end(void)
{
    const char *a = getenv("CUDA_INJECTION64_PATH"), *b = getenv("LD_PRELOAD"), *c = getenv("NV_TOOL_PORT");
    static const char lost[] = "\n========= the environment is not the tool's\n";
    if (a == NULL || b == NULL || c == NULL || strcmp(a, "/nowhere") != 0 || strstr(b, "watch.so") == NULL) {
        (void)!write(1, lost, sizeof lost - 1);
        _exit(99);
    }
}
C
gcc -shared -fPIC -O1 -fno-builtin -w -o watch.so watch.c || exit 1
mkdir bin
cat >bin/compute-sanitizer <<SH2
#!/bin/bash
while [ "\$1" != "\${1#--}" ]; do [ "\$1" != --tool ] || tool=\$2; shift 2; done
echo "========= COMPUTE-SANITIZER"
CUDA_INJECTION64_PATH=/nowhere NV_TOOL_PORT=49152 LD_PRELOAD=$PWD/watch.so "\$@" || exit
case "\$(cat $PWD/says)" in
late) [ \$tool = memcheck ] || { echo "========= Error: No attachable process found. compute-sanitizer timed-out."; exit 1; } ;;
finds) [ \$tool = memcheck ] || { printf '========= Error: Race reported\n=========     at k+0x10 in kernel.cu:7\n'; exit 99; } ;;
esac
SH2
chmod +x bin/compute-sanitizer
export PATH=$PWD/bin:$PATH
for says in nothing finds late; do
    echo "--- the tool: $says"
    echo $says >says
    autokernel check matmul --device cuda:0 --dtype bf16 --impl cuda_sm90 --size 128 --config default --json --sanitize 2>&1 |
        grep -o -E '"(status|reason|sanitizers)": *"[^"]*"' | sed 's/M=[0-9,A-Z=]*/SHAPE/'
done
echo "--- a kernel's folder, named by a relative path"
echo nothing >says
cp -r "$TESTS/../../kernels/matmul" product
autokernel check ./product --device cuda:0 --dtype bf16 --impl cuda_sm90 --size 128 --config default --json --sanitize 2>&1 |
    grep -o -E '"(status|reason|sanitizers)": *"[^"]*"' | sed 's/M=[0-9,A-Z=]*/SHAPE/'
echo "--- a kernel in Triton, whose compiler is a stand-in that makes code for the fake driver"
real=$("$TEST_PYTHON" -c 'import sys; print(sys.executable)')
cat >compiler.py <<'PY'
import json, os
for line in os.fdopen(3):
    request = json.loads(line)
    reply = {"ok": True, "version": "3.0.0"}
    if request["op"] == "compile":
        arguments = [o[12:] for o in request["options"] if o.startswith("--arguments=")]
        types = [t if t[0] == "*" else "i32" for t in arguments[0].split(",")]
        code = b"FAKE CUBIN\n\0"
        one = {"arguments": arguments[0], "general": True, "bytes": len(code), "num_warps": 4, "num_ctas": 1,
               "shared": 0, "entry": "ak_rate", "trailing": 0, "types": types}
        with open(request["artifact"], "wb") as file:
            file.write(json.dumps({"variants": [one]}).encode() + b"\n" + code)
        reply = {"ok": True, "status": "ok"}
    os.write(4, json.dumps(reply).encode() + b"\n")
PY
cat >python <<SH2
#!/bin/bash
case "\$*" in
*import_triton*) exec $real -c '$(cat compiler.py)' ;;
*) $real "\$@" | sed "1s#.*#$PWD/python#" ;;
esac
SH2
chmod +x python
AUTOKERNEL_PYTHON=$PWD/python autokernel check softmax --device cuda:0 --impl triton --size 64 --config default --json --sanitize >triton.json 2>triton.txt
grep -o -E '"(status|sanitizers)": *"[^"]*"' triton.json || cat triton.txt triton.json
