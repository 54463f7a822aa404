# A bundle holds the code that was measured. A source that would be other code when it is exported, because a macro, a
# name, the options or a file tells it so, is the same code there, or is refused.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
export AUTOKERNEL_FINISH_TIME=0.02
autokernel new kernel shipped >/dev/null
sed -i 's/"default": 1048576/"default": 4096/' shipped/problem.json
# Ships, from each compiler, the kernel that it reads.
kernel() {
    cat >shipped/host.c
    for compiler in "$@"; do
        command -v $compiler >/dev/null || { echo "the same with clang"; continue; }
        autokernel tune ./shipped --evals 1 --libraries none --quiet --fix COMPILER=$compiler,OPT_LEVEL=2,UNROLL=1,THREADS=1 >/dev/null 2>&1
        trial=$(autokernel history ./shipped --limit 1 --json | grep -o '"id":[0-9]*' | tail -1 | tr -dc 0-9)
        if autokernel export ./shipped --format bundle --config "#$trial" --output $compiler.akb >message 2>&1; then
            # how fast it is on a busy machine does not matter here
            { autokernel bundle verify $compiler.akb --max-slowdown 10000% >/dev/null 2>message ||
                grep -q "its results are right, but it is slower" message; } && echo "the same with $compiler" || cat message
        else
            sed 's/.*: this compiles/this compiles/; s/trial #[0-9]*/the trial/' message
        fi
        rm -f $compiler.akb
    done
}
plain='const float *x = call->arg[0], *y = call->arg[1]; float *z = call->arg[2]; const int64_t n = call->size[0];'
loop='for (int64_t i = 0; i < n; i++) z[i] = 2 * x[i] + y[i];'
echo "-- the entry's name is a macro"
kernel gcc clang <<C
#define TEXT(x) #x
#define NAME(x) TEXT(x)
void ak_kernel(const ak_host_call *call)
{
    $plain
    $loop
#ifdef ak_kernel
    z[0] = 1e30f;
#endif
    if (sizeof NAME(ak_kernel) != 10) z[0] = 1e30f;
}
C
echo "-- it looks at the path of its file, in the constants and in a section that has a name of its own"
kernel gcc <<C
void ak_kernel(const ak_host_call *call)
{
    $plain
    static const char path[] = __BASE_FILE__;
    $loop
    if (n < 0) z[0] = path[-n % 9];
}
C
kernel gcc <<C
static const char odd[] __attribute__((section("paths"), used)) = __BASE_FILE__;
void ak_kernel(const ak_host_call *call)
{
    $plain
    $loop
    if (n < 0) z[0] = odd[-n % 9];
}
C
echo "-- the name in a message of assert is no such thing"
kernel gcc clang <<C
#include <assert.h>
void ak_kernel(const ak_host_call *call)
{
    $plain
    assert(n > 0);
    $loop
}
C
echo "-- trials from before hashes of code were SHA-256: one warning says that nothing was compared"
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
autokernel bench ./shipped --config 'UNROLL=1,THREADS=1' --archive old.db >/dev/null 2>&1
python3 - old.db <<'P'
import sqlite3, sys
archive = sqlite3.connect(sys.argv[1])
archive.execute("UPDATE trials SET code_hash = substr(code_hash, 1, 32), checksum = NULL")
archive.commit()
P
autokernel export ./shipped --archive old.db --format bundle --output old.akb 2>&1 | grep warning
