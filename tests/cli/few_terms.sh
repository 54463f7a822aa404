# A product that cuts its factors into two bf16 numbers each, where K is so large that the tolerance of full f32 allows it,
# is wrong on inputs with few terms: for check, and for compare. One that keeps all bits is right there.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
export AUTOKERNEL_SAMPLES=5
root=$TESTS/../..
cp -r "$root/kernels/matmul" mine
cat >mine/host_cut.json <<'END'
{"ConfigurationSpace": {"TuningParameters": [{"Name": "CUT", "Type": "int", "Values": [0, 1], "Default": 0}]},
 "KernelSpecification": {"Language": "C", "KernelName": "ak_kernel", "KernelFile": "host_cut.c",
  "CompilerOptions": ["-std=gnu17", "-O3"], "Workspace": "4*2*(M*K+K*N)", "Threads": "1",
  "Needs": [{"Expression": "layout == 'nn' and precision == 'full'", "Description": "-"}]}}
END
cat >mine/host_cut.c <<'END'
#include <string.h>
static float bf16(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    u = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000u;
    memcpy(&x, &u, 4);
    return x;
}
static void cut(float *high, float *low, float x, int is_cut)
{
    *high = is_cut ? bf16(x) : x;
    *low = is_cut ? bf16(x - bf16(x)) : 0;
}
void ak_kernel(const ak_host_call *call)
{
    const int64_t m = call->size[0], n = call->size[1], k = call->size[2];
    const float *a = call->arg[0], *b = call->arg[1];
    float *c = call->arg[2], *ah = call->workspace, *al = ah + m * k, *bh = al + m * k, *bl = bh + k * n;
    const int is_cut = CUT && k >= 600;
    for (int64_t i = 0; i < m * k; i++) cut(&ah[i], &al[i], a[i / k * call->pitch[0] + i % k], is_cut);
    for (int64_t i = 0; i < k * n; i++) cut(&bh[i], &bl[i], b[i / n * call->pitch[1] + i % n], is_cut);
    for (int64_t i = 0; i < m; i++) {
        float *to = c + i * call->pitch[2];
        for (int64_t j = 0; j < n; j++) to[j] = 0;
        for (int64_t l = 0; l < k; l++)
            for (int64_t j = 0; j < n; j++)
                to[j] += ah[i * k + l] * bh[l * n + j] + ah[i * k + l] * bl[l * n + j] + al[i * k + l] * bh[l * n + j];
    }
}
END
for size in M=64,N=96,K=700 M=33,N=65,K=2048; do
    autokernel check ./mine --impl host_cut --size $size --config 'CUT=0;CUT=1' --quiet 2>&1 | grep -o -E 'wrong_result .*in each sum\)|.* right over.*'
done
autokernel compare ./mine --impl host_cut --size M=64,N=96,K=700 --config 'CUT=0;CUT=1' --libraries none --time 1 --archive few.db 2>&1 |
    grep -o -E '^autokernel: .* failed: at .*in each sum\)'

# The same in products of groups of rows, where only A can have the few terms.
mkdir groups
cp "$root/kernels/matmul_grouped/reference.c" groups
sed "s/\"name\": \"matmul_grouped\"/\"name\": \"groups\"/" "$root/kernels/matmul_grouped/problem.json" >groups/problem.json
sed 's/precision == .full./activation == '"'none'"' and inputs == '"'dtype'"'/; s/layout == .nn./layout == '"'packed'"'/; s/"Workspace.*Threads": "1"/"Threads": "1"/' \
    mine/host_cut.json >groups/host_cut.json
sed '/^void ak_kernel/,$d' mine/host_cut.c >groups/host_cut.c
cat >>groups/host_cut.c <<'END'
void ak_kernel(const ak_host_call *call)
{
    const int64_t groups = call->size[0], m = call->size[1], n = call->size[2], k = call->size[3];
    const float *a = call->arg[0], *b = call->arg[1];
    const int32_t *ends = call->arg[2];
    float *c = call->arg[4];
    for (int64_t i = 0, g = 0; i < m; i++) {
        while (g < groups && i >= ends[g]) g++;
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t l = 0; g < groups && l < k; l++) {
                float xh, xl, yh, yl;
                cut(&xh, &xl, a[i * call->pitch[0] + l], CUT && k >= 600);
                cut(&yh, &yl, b[(g * n + j) * call->pitch[1] + l], CUT && k >= 600);
                sum += (double)xh * yh + (double)xh * yl + (double)xl * yh;
            }
            c[i * call->pitch[4] + j] = (float)sum;
        }
    }
}
END
autokernel check ./groups --impl host_cut --dtype f32 --size groups=4,M=64,N=48,K=700 --config 'CUT=0;CUT=1' --quiet 2>&1 |
    grep -o -E 'wrong_result .*in each sum\)|.* right over.*'
