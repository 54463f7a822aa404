# Baselines that problem.json names: a C file, a shared library's function, a Python function; and what is refused.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
autokernel new kernel mine >/dev/null
cat >mine/naive.c <<'C'
void scale(const float *x, const float *y, float *z, long n)
{
    for (long i = 0; i < n; i++) {
        z[i] = 2 * x[i] + y[i];
    }
}
C
cat >library.c <<'C'
#include <stdlib.h>
/* It keeps state, and takes a float by value. */
void library_scale(long n, float a, const float *x, const float *y, float *z)
{
    static float *kept;
    kept = kept == NULL ? malloc(sizeof *kept) : kept;
    *kept = a;
    for (long i = 0; i < n; i++) {
        z[i] = *kept * x[i] + y[i];
    }
}
C
long=scale_$(printf 'of_a_library_%.0s' {1..20})
echo "void $long(long n, float a, const float *x, const float *y, float *z) { library_scale(n, a, x, y, z); }" >>library.c
gcc -O2 -shared -fPIC library.c -o mine/libmine.so
baselines() { # their JSON: replaces those that are there
    rm -rf m && cp -r mine m
    sed -i "s/\"mine\"/\"m\"/; s#\"reference\": *\"reference.c\"#&, \"baselines\": [$1]#" m/problem.json
}
# The names, without versions and times; and whether they are right.
table() { autokernel compare ./m --size 1000 --time 0.1s --libraries "${1:-default}" "${@:2}" 2>&1 | sed -n -E 's/ +[0-9.]+ +[0-9.]+ \.\. .*/ measured/; s/(failed|measured) +/\1 /; s/ +-  -.*failed/ failed/; /^autokernel|measured$|failed/p'; }
all='{"Buffer": "X"}, {"Buffer": "Y"}, {"Buffer": "Z"}'
naive='{"name": "naive", "source": "naive.c", "function": "scale", "arguments": ['$all', {"Int64": "n"}]}'
library='{"name": "library", "library": "./libmine.so", "function": "library_scale", "arguments": [{"Int64": "n"}, {"Float32": 2}, '"$all"']}'
baselines "$naive, $library"
table
table library
table none
autokernel tune ./m --size 1000 --evals 1 --quiet --json 2>/dev/null | grep -o '"name":"[a-z]* .own.","version":"[^"]*"' | sort -u
echo "-- everywhere it is said to be the kernel's own"
baselines "${naive/\"naive\"/\"copy_loop\"}"
autokernel tune ./m --size 1000 --evals 1 --device host --libraries copy_loop 2>&1 | sed -n 's/^library \(.*\):.*/\1/p'
for format in md html json; do
    autokernel report --format $format --output report.$format >/dev/null 2>&1
    printf '%s: %s, bare %s\n' $format "$(grep -c 'copy_loop (own)' report.$format | sed 's/[1-9].*/there/')" "$(grep -oE '.{1,14}copy_loop.{1,2}' report.$format | grep -vc -e 'copy_loop (' -e librar)"
done
autokernel export ./m --device host --format best | grep -oE '"name": ?"copy[^"]*"'
autokernel export ./m --device host --format bundle --output own.akb >/dev/null
tar xOf own.akb bundle.json | grep -A 1 '"name": "copy_loop'
PYTHONPATH=$TESTS PYTHONDONTWRITEBYTECODE=1 python3 - <<'END'
from mcp_client import Client
c = Client("./m", "--time", "60")
c.tool("compare", kernel="m", size="1000", configs=["default"], baselines=True)
print("mcp:", *sorted(line.split(" ms, ")[0].rpartition(" ")[0] + "; " + line.rpartition("; ")[2][:6]
                      for line in c.text.splitlines() if line.startswith("copy_loop")))
END
echo "-- its own flags, and an ak_kernel"
cat >own.c <<'C'
#ifndef FACTOR
#define FACTOR 3
#endif
void ak_kernel(const ak_host_call *call)
{
    const float *x = call->arg[0], *y = call->arg[1];
    float *z = call->arg[2];
    for (long i = 0; i < call->size[0]; i++) {
        z[i] = FACTOR * x[i] + y[i];
    }
}
C
baselines '{"name": "right", "source": "own.c", "options": ["-O1", "-DFACTOR=2"]}, {"name": "wrong", "source": "own.c"}'
cp own.c m
table | sed 's/: got.*/.../'
echo "-- confined: a file of the user, a file of its own, the network, processes"
echo secret >"$HOME/secret"
cat >spy.c <<'C'
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
static void *nothing(void *p)
{
    return p;
}
static int got; /* what it reached, a bit each */
__attribute__((constructor)) static void early(void)
{
    char path[4096];
    pthread_t thread;
    const char *home = getenv("HOME");
    got |= home == NULL || strlen(home) > 4000 ? 1 : 0;
    strcpy(path, home);
    strcat(path, "/secret");
    got |= open(path, O_RDONLY) >= 0 ? 2 : 0;
    strcat(path, ".mine");
    got |= open(path, O_WRONLY | O_CREAT, 0600) >= 0 ? 4 : 0;
    got |= socket(AF_INET, SOCK_DGRAM, 0) >= 0 || socket(AF_INET6, SOCK_STREAM, 0) >= 0 ? 8 : 0;
    got |= socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? 16 : 0;
    pid_t child = fork();
    if (child == 0) {
        sleep(4322);
    }
    got |= child > 0 ? 32 : 0;
    got |= kill(getppid(), 0) == 0 ? 64 : 0;
    got |= prctl(PR_SET_PDEATHSIG, 0) == 0 ? 128 : 0;
    got |= pthread_create(&thread, NULL, nothing, NULL) != 0 || pthread_join(thread, NULL) != 0 ? 256 : 0;
}
void ak_kernel(const ak_host_call *call)
{
    const float *x = call->arg[0], *y = call->arg[1];
    float *z = call->arg[2];
    for (long i = 0; i < call->size[0]; i++) {
        z[i] = 2 * x[i] + y[i] + (float)got;
    }
}
C
cp spy.c mine
baselines '{"name": "spy", "source": "spy.c", "options": ["-O1"]}'
table
baselines '{"name": "lib", "library": "'"$PWD"'/mine/libmine.so", "function": "library_scale", "arguments": [{"Int64": "n"}, {"Float32": 2}, '"$all"']}'
table
echo "-- the name of a function may be long"
baselines "${library/library_scale/$long}"
table
echo "-- a source in C for each dtype"
cp mine/naive.c naive.c
(printf '#if dtype_is_f64\n#define float double\n#endif\n'; cat naive.c) >mine/naive.c
baselines "$naive"
sed -i 's/"dtypes": \["f32"\]/"dtypes": ["f32", "f64"]/; s/"tolerance": {/& "f64": { "relative": "4*eps", "rms": "4*eps" },/' m/problem.json
sed -i '1s/^/#if dtype_is_f64\n#define float double\n#endif\n/' m/host.c
table
table default --dtype f64
cp naive.c mine
echo "-- refused"
refused() { baselines "$1" && table; }
refused '{"name": "naive"}'
refused '{"name": "naive", "source": "naive.c", "library": "libmine.so"}'
refused '{"name": "naive", "sauce": "naive.c"}'
refused '{"name": "naive", "source": "gone.c"}'
refused '{"name": "naive", "source": "naive.c", "function": "scale"}'
refused "${naive/\"scale\"/\"gone\"}" | sed 's#/[^ ]*/own#own#'
refused "${naive/\"X\"/\"Q\"}"
refused "${naive/arguments/options\": [\"-fplugin=x\"], \"arguments}"
refused "${naive/arguments/options\": [5], \"arguments}"
for name in openblas OpenBLAS open_BLAS2 BLIS_ oneDNN_fast cuBLASLt copy; do refused "${naive/\"naive\"/\"$name\"}"; done
refused "$naive, $naive"
refused "${library/library_scale/$long$long$long$long}"
refused "${library/library_scale/gone}" | sed 's#/[^ ]*/m#m#'
refused "${library/.\/libmine/libgone}"
refused "${library/\"arguments/\"options\": [], \"arguments}"
refused '{"name": "x", "python": "base.c"}'
refused '{"name": "x", "python": "base.py", "arguments": []}'
refused "$naive, ${naive/\"naive\"/\"b\"}, ${naive/\"naive\"/\"c\"}, ${naive/\"naive\"/\"d\"}, ${naive/\"naive\"/\"e\"}, ${naive/\"naive\"/\"f\"}, ${naive/\"naive\"/\"g\"}, ${naive/\"naive\"/\"h\"}, ${naive/\"naive\"/\"i\"}"
echo "-- Python, without NumPy at least a reason"
python3 -m venv --without-pip bare 2>/dev/null
echo 'def scale(X, Y): return 2 * X + Y' >mine/base.py
AUTOKERNEL_PYTHON=$PWD/bare/bin/python refused '{"name": "x", "python": "base.py:scale"}' | sed 's#needs NumPy.*#needs NumPy ...#'
AUTOKERNEL_PYTHON=/nowhere/python refused '{"name": "x", "python": "base.py:scale"}'
echo "-- another text or file has another version"
versions() { autokernel compare ./m --size 1000 --time 0.1s --json | grep -oE '"version": ?"(C file|library) [0-9a-f]{8}"' | sort -u; }
baselines "$naive, $library"
versions >before
versions | cmp - before && echo "the same"
sed -i 's/2 \* x/2.0f * x/; s/z\[i\] =/z[i] = 0 +/' m/naive.c
versions | grep -vxFf before | grep -o 'C file'
gcc -O0 -shared -fPIC library.c -o m/libmine.so
versions | grep -vxFf before | grep -o 'library'
echo "-- the archive and bundles have their files, without which problem.json cannot be read"
baselines "$naive, {\"name\": \"py\", \"python\": \"base.py:scale\"}"
echo 'import helper' >>m/base.py
echo 'import deeper' >m/helper.py
echo 'A = 1' >m/deeper.py
AUTOKERNEL_FINISH_TIME=0.02 autokernel tune ./m --size 1000 --evals 1 --libraries none --quiet --archive kept.db >/dev/null 2>&1
autokernel export ./m --format bundle --output m.akb --archive kept.db
autokernel bundle verify m.akb --max-slowdown 1000% 2>&1 | grep -oE '^n=1000 +ok'
mv m gone
autokernel history --source '#1' --output back --archive kept.db
autokernel check back/m --size 64 --configs 0 --quiet | grep right
autokernel export m --format bundle --config '#1' --output again.akb --archive kept.db
cmp <(tar xOf m.akb source/m/helper.py) <(tar xOf again.akb source/m/helper.py) && echo "the same helper"
