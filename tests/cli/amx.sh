# Tests products in bf16 by the tile registers of AMX: every layout and epilogue, sizes that are not whole
# tiles, and a bundle in a program that has not asked the system for the registers.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
root=$TESTS/../..
autokernel list matmul --impl host_amx --dtype bf16 >listed 2>&1
if grep -q 'a processor with AMX' listed; then
    autokernel check matmul --dtype bf16 2>&1 | cut -d, -f1
    echo "this processor or system has no AMX for bf16"
    exit 77
fi
try() { autokernel check "$@" --dtype bf16 --quiet >out 2>&1; echo "exit $?"; grep -v -e '^ok' -e '^next' -e '^reference' out; }
try matmul --size M=40,N=33,K=289 --set layout=nt,pad_a=3,pad_b=5,pad_c=1 --config default
try matmul --size M=33,N=50,K=65 --set layout=tt,beta=-2 --config default
try matmul_act --size M=45,N=70,K=300 --set activation=gelu_erf,residual=add,layout=tn,alpha=0.5 --config default
echo "-- several blocks of depth, by two threads where there are two"
try matmul --size M=100,N=100,K=1100 --config KC=256,NC=128,MC=256,PACK_A=1
echo "-- a bundle"
autokernel tune matmul --dtype bf16 --size M=70,N=50,K=90 --evals 1 --libraries none --quiet >/dev/null 2>&1
autokernel export matmul --dtype bf16 --size M=70,N=50,K=90 --format bundle >/dev/null && tar xOf matmul_bf16.akb bundle.json | grep -o '"tiles": true'
cat >ones.c <<'EOF'
#include "ak_runtime.h"
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    akr_bundle *bundle;
    akr_pool *pool;
    akr_plan plan;
    akr_error err;
    int64_t size[3] = {70, 50, 90}, wrong = 0;
    if (akr_open(&bundle, "matmul_bf16.akb", 0, &err) != AKR_OK ||
        akr_query(&plan, bundle, size, &err) != AKR_OK ||
        akr_pool_open(&pool, plan.threads, &err) != AKR_OK) {
        return printf("%s\n", err.text), 1;
    }
    static _Alignas(64) uint16_t a[70 * 90], b[90 * 50], c[70 * 50];
    void *arg[] = {a, b, c, NULL}, *workspace = aligned_alloc(64, plan.workspace_bytes + 64);
    for (int i = 0; i < 70 * 90; i++) a[i] = 0x3f80; /* 1 */
    for (int i = 0; i < 90 * 50; i++) b[i] = 0x4000; /* 2 */
    if (akr_run(bundle, &plan, arg, workspace, plan.workspace_bytes, pool, &err) != AKR_OK) {
        return printf("%s\n", err.text), 1;
    }
    for (int i = 0; i < 70 * 50; i++) wrong += c[i] != 0x4334; /* 180 */
    printf("%lld elements are wrong\n", (long long)wrong);
    akr_pool_close(pool);
    akr_close(bundle);
    return wrong > 0;
}
EOF
gcc -I"$root/runtime" ones.c "$root/runtime/ak_runtime.c" -ldl -lm -pthread -o ones && env -i ./ones
exit 0
