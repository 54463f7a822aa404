/* product.c: computes C = A*B with a bundle, and checks the result.
 *     cc product.c ak_runtime.c -ldl -lm -pthread -o product && ./product matmul_f32.akb 9 9 9 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ak_runtime.h"
static int failed(const akr_error *err) { return fprintf(stderr, "%s\n", err->text), 1; }
int main(int argc, char **argv) {
    akr_bundle *bundle;
    akr_pool *pool;
    akr_plan plan;
    akr_error err;
    if (argc != 5) return fprintf(stderr, "product BUNDLE M N K\n"), 1;
    int64_t size[] = {atoll(argv[2]), atoll(argv[3]), atoll(argv[4])}, count = size[0] * size[1];
    if (akr_open(&bundle, argv[1], 0, &err) != AKR_OK) return failed(&err);
    const akr_info *info = akr_describe(bundle); /* options: a transposition, padding, .. */
    if (strcmp(info->name, "matmul_f32") != 0 || info->options[0] != 0)
        return fprintf(stderr, "%s %s is not matmul_f32\n", info->name, info->options), 1;
    if (akr_query(&plan, bundle, size, &err) != AKR_OK) return failed(&err);
    if (akr_pool_open(&pool, plan.threads, &err) != AKR_OK) return failed(&err);
    float *a = aligned_alloc(64, plan.bytes[0] + 64), *b = aligned_alloc(64, plan.bytes[1] + 64);
    float *c = aligned_alloc(64, plan.bytes[2] + 64);
    void *workspace = aligned_alloc(64, plan.workspace_bytes + 64);
    for (int64_t i = 0; i < size[0] * size[2]; i++) a[i] = (float)(i % 7 - 3);
    for (int64_t i = 0; i < size[2] * size[1]; i++) b[i] = (float)(i % 5 - 2);
    void *arg[] = {a, b, c, NULL}; /* beta is 0, so its matrix is not used */
    int status = akr_run(bundle, &plan, arg, workspace, plan.workspace_bytes, pool, &err);
    if (status != AKR_OK) return failed(&err);
    long long wrong = 0;
    for (int64_t i = 0; i < count; i++) {
        float sum = 0; /* exact, because all terms are small integers */
        for (int64_t k = 0; k < size[2]; k++)
            sum += a[i / size[1] * size[2] + k] * b[k * size[1] + i % size[1]];
        wrong += sum != c[i];
    }
    printf("%s, %s: %lld of %lld elements are wrong\n", info->name,
           plan.measured ? "a measured size" : "another size", wrong, (long long)count);
    return akr_pool_close(pool), akr_close(bundle), wrong > 0;
}
